// Roles of Throughline in Azure, in one table: infra/roles.json, with a reason for each; tests compare it with the calls
// that the code makes. The role in Purview is granted there: docs/operate/deploy.md, step 4. That of Event Grid's topic is
// in events.bicep, since the topic is made later, and those of the lineage page in lineage-roles.bicep, since it may be off.
//
// A row's `on` is the scope of the role: `storage` (the data account), `receiverStorage` (the account of the receiver's
// host), `container` and `table` (in the data account, named by `of`), `insights` or `group` (the resource group).
param storageAccountName string
param receiverStorageAccountName string
param componentName string
param receiverIdentityName string
param workerIdentityName string
@description('Object id of an Entra ID group of people on call; empty: nobody gets their roles.')
param operatorsGroupId string

var table = filter(
  loadJsonContent('../roles.json'),
  row => !contains(['topic', 'lineage'], row.to) && (row.to != 'operators' || !empty(operatorsGroupId))
)
var onStorage = filter(table, row => row.on == 'storage')
var onReceiverStorage = filter(table, row => row.on == 'receiverStorage')
var onContainers = filter(table, row => row.on == 'container')
var onTables = filter(table, row => row.on == 'table')
var onInsights = filter(table, row => row.on == 'insights')
var onGroup = filter(table, row => row.on == 'group')

resource receiver 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: receiverIdentityName
}

resource worker 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = { name: workerIdentityName }
resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = { name: storageAccountName }

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

resource component 'Microsoft.Insights/components@2020-02-02' existing = { name: componentName }

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-04-01' existing = [
  for row in onContainers: {
    parent: blobService
    name: row.?of ?? ''
  }
]

resource tables 'Microsoft.Storage/storageAccounts/tableServices/tables@2026-04-01' existing = [
  for row in onTables: {
    parent: tableService
    name: row.?of ?? ''
  }
]

// A name is made from the identity's id, which is known before the identity exists, so that what-if can list the role.
var ids = { receiver: receiver.id, worker: worker.id, operators: operatorsGroupId }

var principals = {
  receiver: receiver.properties.principalId
  worker: worker.properties.principalId
  operators: operatorsGroupId
}

@description('The properties of a role assignment, by its row and the object id of who gets the role.')
func granted(row { *: string }, principal string) { *: string } => {
  roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', row.role)
  principalId: principal
  principalType: row.to == 'operators' ? 'Group' : 'ServicePrincipal'
  description: row.reason
}

resource accountRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for row in onStorage: {
    name: guid(account.id, ids[row.to], row.role)
    scope: account
    properties: granted(row, principals[row.to])
  }
]

resource receiverAccountRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for row in onReceiverStorage: {
    name: guid(receiverAccount.id, ids[row.to], row.role)
    scope: receiverAccount
    properties: granted(row, principals[row.to])
  }
]

resource containerRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (row, index) in onContainers: {
    name: guid(containers[index].id, ids[row.to], row.role)
    scope: containers[index]
    properties: granted(row, principals[row.to])
  }
]

resource tableRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (row, index) in onTables: {
    name: guid(tables[index].id, ids[row.to], row.role)
    scope: tables[index]
    properties: granted(row, principals[row.to])
  }
]

resource insightsRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for row in onInsights: {
    name: guid(component.id, ids[row.to], row.role)
    scope: component
    properties: granted(row, principals[row.to])
  }
]

resource groupRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for row in onGroup: {
    name: guid(resourceGroup().id, ids[row.to], row.role)
    properties: granted(row, principals[row.to])
  }
]
