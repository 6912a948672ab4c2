// All roles of Throughline in Azure, in one table. The role in Purview is granted there: docs/operate/deploy.md, step 4.
// infra/roles.json gives the reason for each role; tests compare both with the calls that the code makes.
//
// A row's `on` is the scope of the role: `storage` (the data account), `receiverStorage` (the account of the receiver's
// host), `container` and `table` (in the data account, named by `of`) or `insights`. `when` limits a row to one delivery.
param storageAccountName string
param receiverStorageAccountName string
param componentName string
param receiverIdentityName string
param workerIdentityName string
param delivery string

var table = loadJsonContent('../roles.json')
var grants = filter(table, each => (each.?when ?? delivery) == delivery)
var onStorage = filter(grants, each => each.on == 'storage')
var onReceiverStorage = filter(grants, each => each.on == 'receiverStorage')
var onContainers = filter(grants, each => each.on == 'container')
var onTables = filter(grants, each => each.on == 'table')
var onInsights = filter(grants, each => each.on == 'insights')

resource receiver 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: receiverIdentityName
}

resource worker 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: workerIdentityName
}

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = {
  name: storageAccountName
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2026-04-01' existing = {
  parent: account
  name: 'default'
}

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2026-04-01' existing = {
  parent: account
  name: 'default'
}

resource receiverAccount 'Microsoft.Storage/storageAccounts@2026-04-01' existing = {
  name: receiverStorageAccountName
}

resource component 'Microsoft.Insights/components@2020-02-02' existing = {
  name: componentName
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-04-01' existing = [
  for grant in onContainers: {
    parent: blobService
    name: grant.?of ?? ''
  }
]

resource tables 'Microsoft.Storage/storageAccounts/tableServices/tables@2026-04-01' existing = [
  for grant in onTables: {
    parent: tableService
    name: grant.?of ?? ''
  }
]

// The name is made from the identity's id, which is known before the identity exists, so that what-if can list the role.
var identityIds = {
  receiver: receiver.id
  worker: worker.id
}

resource accountRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for grant in onStorage: {
    name: guid(account.id, identityIds[grant.to], grant.role)
    scope: account
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
      principalId: grant.to == 'receiver' ? receiver.properties.principalId : worker.properties.principalId
      principalType: 'ServicePrincipal'
      description: grant.reason
    }
  }
]

resource receiverAccountRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for grant in onReceiverStorage: {
    name: guid(receiverAccount.id, identityIds[grant.to], grant.role)
    scope: receiverAccount
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
      principalId: grant.to == 'receiver' ? receiver.properties.principalId : worker.properties.principalId
      principalType: 'ServicePrincipal'
      description: grant.reason
    }
  }
]

resource containerRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (grant, index) in onContainers: {
    name: guid(containers[index].id, identityIds[grant.to], grant.role)
    scope: containers[index]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
      principalId: grant.to == 'receiver' ? receiver.properties.principalId : worker.properties.principalId
      principalType: 'ServicePrincipal'
      description: grant.reason
    }
  }
]

resource tableRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (grant, index) in onTables: {
    name: guid(tables[index].id, identityIds[grant.to], grant.role)
    scope: tables[index]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
      principalId: grant.to == 'receiver' ? receiver.properties.principalId : worker.properties.principalId
      principalType: 'ServicePrincipal'
      description: grant.reason
    }
  }
]

resource insightsRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for grant in onInsights: {
    name: guid(component.id, identityIds[grant.to], grant.role)
    scope: component
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
      principalId: grant.to == 'receiver' ? receiver.properties.principalId : worker.properties.principalId
      principalType: 'ServicePrincipal'
      description: grant.reason
    }
  }
]
