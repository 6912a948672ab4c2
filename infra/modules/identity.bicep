// Two identities: the receiver's can neither read the queue nor write to the catalog.
param location string
param tags { *: string }
param receiverName string
param workerName string

resource receiverIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: receiverName
  location: location
  tags: tags
}

resource workerIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: workerName
  location: location
  tags: tags
}

output workerPrincipalId string = workerIdentity.properties.principalId
