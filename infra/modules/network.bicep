// A network for the apps, and one subnet for the private end points that they reach storage by.
param location string
param tags object
param name string

@description('Who may place machines into the subnet of the apps: it depends on the plan.')
param delegation string

@description('Addresses of the network; change it where it would overlap with another one.')
param addresses string = '10.71.0.0/24'

resource network 'Microsoft.Network/virtualNetworks@2024-05-01' = {
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
        name: 'apps'
        properties: {
          addressPrefix: cidrSubnet(addresses, 26, 0)
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
          addressPrefix: cidrSubnet(addresses, 26, 1)
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}

output id string = network.id
output appsSubnetId string = network.properties.subnets[0].id
output endpointsSubnetId string = network.properties.subnets[1].id
