// Every right that Throughline has in Azure, in one table. The one it needs in Purview is granted there: docs/azure.md.
// infra/roles.json says for each what it is for; a test holds both to the calls that the code makes.
param storageAccountName string
param componentName string

@description('Principal ids by the names that the table uses.')
param principalIds object

var grants = loadJsonContent('../roles.json')

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: storageAccountName
}

resource component 'Microsoft.Insights/components@2020-02-02' existing = {
  name: componentName
}

resource onStorage 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for grant in filter(grants, each => each.on == 'storage'): {
  name: guid(account.id, principalIds[grant.to], grant.role)
  scope: account
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
    principalId: principalIds[grant.to]
    principalType: 'ServicePrincipal'
    description: grant.reason
  }
}]

resource onInsights 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for grant in filter(grants, each => each.on == 'insights'): {
  name: guid(component.id, principalIds[grant.to], grant.role)
  scope: component
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
    principalId: principalIds[grant.to]
    principalType: 'ServicePrincipal'
    description: grant.reason
  }
}]
