// Storage inside the network: a private end point and a name zone for blobs, queues and tables each.
param location string
param tags object
param prefix string
param storageAccountName string
param virtualNetworkId string
param subnetId string

var services = [
  'blob'
  'queue'
  'table'
]

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: storageAccountName
}

resource zones 'Microsoft.Network/privateDnsZones@2020-06-01' = [for service in services: {
  name: 'privatelink.${service}.${environment().suffixes.storage}'
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2020-06-01' = [for (service, index) in services: {
  parent: zones[index]
  name: 'throughline'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: virtualNetworkId
    }
  }
}]

resource endpoints 'Microsoft.Network/privateEndpoints@2024-05-01' = [for service in services: {
  name: '${prefix}${service}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: service
        properties: {
          privateLinkServiceId: account.id
          groupIds: [
            service
          ]
        }
      }
    ]
  }
}]

resource groups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-05-01' = [for (service, index) in services: {
  parent: endpoints[index]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: service
        properties: {
          privateDnsZoneId: zones[index].id
        }
      }
    ]
  }
}]
