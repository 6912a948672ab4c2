// Roles of the app of the lineage page, in the same table as the others (roles.bicep): it may read published documents.
param storageAccountName string
param hostStorageAccountName string
param componentName string
param identityName string

var table = filter(loadJsonContent('../roles.json'), row => row.to == 'lineage')
var onHost = filter(table, row => row.on == 'lineageStorage')
var onContainers = filter(table, row => row.on == 'container')
var onInsights = filter(table, row => row.on == 'insights')

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = { name: identityName }
resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = { name: storageAccountName }
resource hostAccount 'Microsoft.Storage/storageAccounts@2026-04-01' existing = { name: hostStorageAccountName }
resource component 'Microsoft.Insights/components@2020-02-02' existing = { name: componentName }

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2026-04-01' existing = {
  parent: account
  name: 'default'
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-04-01' existing = [
  for row in onContainers: {
    parent: blobService
    name: row.?of ?? ''
  }
]

@description('The properties of a role assignment, by its row and the object id of the identity.')
func granted(row { *: string }, principal string) { *: string } => {
  roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', row.role)
  principalId: principal
  principalType: 'ServicePrincipal'
  description: row.reason
}

resource hostRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for row in onHost: {
    name: guid(hostAccount.id, identity.id, row.role)
    scope: hostAccount
    properties: granted(row, identity.properties.principalId)
  }
]

resource containerRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (row, index) in onContainers: {
    name: guid(containers[index].id, identity.id, row.role)
    scope: containers[index]
    properties: granted(row, identity.properties.principalId)
  }
]

resource insightsRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for row in onInsights: {
    name: guid(component.id, identity.id, row.role)
    scope: component
    properties: granted(row, identity.properties.principalId)
  }
]
