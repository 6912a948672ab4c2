// A network of Throughline's own, where none is given: a subnet for the apps, one for the private end points.
param location string
param tags { *: string }
param name string

@description('Who may place machines into the subnet of the apps: it depends on the plan.')
param delegation string

@description('Addresses of the network: it is cut into two subnets of a quarter each.')
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
        name: 'apps' // delegated: the platform sees to its way out, default outbound access is about virtual machines
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
          defaultOutboundAccess: false // private end points only receive
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}
