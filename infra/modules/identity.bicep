// Two identities, so that the app that faces the network can neither read the queue nor write to the catalog.
param location string
param tags object
param prefix string

type identity = {
  @description('Resource id')
  id: string
  @description('What an application names it by')
  clientId: string
  @description('What roles are granted to')
  principalId: string
}

resource receiverIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: '${prefix}receiver'
  location: location
  tags: tags
}

resource workerIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: '${prefix}worker'
  location: location
  tags: tags
}

output receiver identity = {
  id: receiverIdentity.id
  clientId: receiverIdentity.properties.clientId
  principalId: receiverIdentity.properties.principalId
}

output worker identity = {
  id: workerIdentity.id
  clientId: workerIdentity.properties.clientId
  principalId: workerIdentity.properties.principalId
}
