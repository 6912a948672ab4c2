// A new network, if no subnets are given: a subnet for the apps, one for the private endpoints, one for operators'
// machines. Subnets are resources of their own: a list of them in the network would delete those made by others.
param location string
param tags { *: string }
param name string
@description('Delegation of the apps\' subnet; it depends on the plan.')
param delegation string
@description('Addresses of the network. Each of the three subnets gets a quarter.')
param addresses string
@description('Name of the network security group that is made, if none is given.')
param securityGroupName string
@description('Resource ids of what the company gives its subnets; empty: no NAT gateway, no route table, a group with Azure\'s default rules.')
param natGatewayId string
param routeTableId string
param securityGroupId string

var prefixLength = int(split(addresses, '/')[1]) + 2
var groupId = empty(securityGroupId)
  ? resourceId('Microsoft.Network/networkSecurityGroups', securityGroupName)
  : securityGroupId
var nat = empty(natGatewayId) ? {} : { natGateway: { id: natGatewayId } }
var routes = empty(routeTableId) ? {} : { routeTable: { id: routeTableId } }
var subnets = [
  {
    // Delegated: the platform provides outbound access.
    name: 'apps'
    properties: union(nat, routes, { delegations: [{ name: 'apps', properties: { serviceName: delegation } }] })
  }
  {
    name: 'endpoints' // private endpoints make no outbound calls
    properties: { defaultOutboundAccess: false, privateEndpointNetworkPolicies: 'Disabled' }
  }
  { name: 'operators', properties: union(nat, routes, { defaultOutboundAccess: false }) }
]

resource group 'Microsoft.Network/networkSecurityGroups@2025-05-01' = if (empty(securityGroupId)) {
  name: securityGroupName
  location: location
  tags: tags
}

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' = {
  name: name
  location: location
  tags: tags
  properties: { addressSpace: { addressPrefixes: [addresses] } }
}

@batchSize(1) // a network takes one change at a time
resource parts 'Microsoft.Network/virtualNetworks/subnets@2025-05-01' = [
  for (subnet, index) in subnets: {
    parent: network
    name: subnet.name
    dependsOn: [group]
    properties: union(subnet.properties, {
      addressPrefix: cidrSubnet(addresses, prefixLength, index)
      networkSecurityGroup: { id: groupId }
    })
  }
]
