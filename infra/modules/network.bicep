// A new network, if no subnets are given: one subnet for the apps, one for the private endpoints.
param location string
param tags { *: string }
param name string

@description('Delegation of the apps\' subnet; it depends on the plan.')
param delegation string

@description('Addresses of the network. Each of the two subnets gets a quarter.')
param addresses string

var prefixLength = int(split(addresses, '/')[1]) + 2

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [
        addresses
      ]
    }
    subnets: [
      {
        name: 'apps' // delegated: the platform provides outbound access; default outbound access concerns virtual machines
        properties: {
          addressPrefix: cidrSubnet(addresses, prefixLength, 0)
          delegations: [
            {
              name: 'apps'
              properties: {
                serviceName: delegation
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: cidrSubnet(addresses, prefixLength, 1)
          defaultOutboundAccess: false // private endpoints make no outbound calls
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}
