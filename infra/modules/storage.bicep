// A storage account with its containers and tables. There are two accounts: one for Throughline's data and the worker's
// host, one for the receiver's host (docs/contribute/decisions/0007-receiver-host-storage.md).
param location string
param tags { *: string }
param name string
param redundancy string
param privateNetwork bool
@description('Containers to create. A role can be granted on a container only when it exists.')
param containers string[]
@description('Tables to create, for the same reason. The worker creates its own tables.')
param tables string[] = []
@description('Days after which ignored events are deleted; 0: the account has none.')
param ignoredDays int = 0
@description('Days for which the container archive must not change: one of `containers` then. 0: no policy.')
param archiveImmutableDays int = 0
@description('Whether the account is locked against deletion.')
param deleteLock bool = false

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: redundancy }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
    networkAcls: { bypass: 'AzureServices', defaultAction: privateNetwork ? 'Deny' : 'Allow' }
  }
}

resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (deleteLock) {
  name: 'throughline-events'
  scope: account
  properties: {
    level: 'CanNotDelete'
    notes: 'Holds the events that lineage is made of. Remove this lock before you delete the account or its resource group.'
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2026-04-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: { enabled: true, days: 7 }
    containerDeleteRetentionPolicy: { enabled: true, days: 7 }
  }
}

resource blobContainers 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-04-01' = [
  for container in containers: {
    parent: blobs
    name: container
    properties: { publicAccess: 'None' }
  }
]

resource archive 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-04-01' existing = {
  parent: blobs
  name: 'archive'
}

// Unlocked: who may change the template may shorten it. docs/operate/security.md has the command that locks it.
resource archivePolicy 'Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies@2026-04-01' = if (archiveImmutableDays > 0) {
  parent: archive
  name: 'default'
  dependsOn: [blobContainers]
  properties: { immutabilityPeriodSinceCreationInDays: archiveImmutableDays }
}

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2026-04-01' = {
  parent: account
  name: 'default'
}

resource accountTables 'Microsoft.Storage/storageAccounts/tableServices/tables@2026-04-01' = [
  for table in tables: {
    parent: tableService
    name: table
  }
]

resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2026-04-01' = if (ignoredDays > 0) {
  parent: account
  name: 'default'
  dependsOn: [blobs]
  properties: {
    policy: {
      rules: [
        {
          name: 'forget-ignored-events'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: { blobTypes: ['blockBlob'], prefixMatch: ['ignored/'] }
            actions: { baseBlob: { delete: { daysAfterCreationGreaterThan: ignoredDays } } }
          }
        }
      ]
    }
  }
}
