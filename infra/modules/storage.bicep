// The storage account: blobs and tables of Throughline, and what the functions host keeps for itself.
param location string
param tags object
param name string
param redundancy string
param retentionDays int
param privateNetwork bool

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: redundancy
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

// The functions make what they miss, but a trigger, a topic or a deployment may look for these before.
resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' = [for container in [
  'events'
  'ignored'
  'packages'
]: {
  parent: blobs
  name: container
  properties: {
    publicAccess: 'None'
  }
}]

resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2024-01-01' = {
  parent: account
  name: 'default'
  dependsOn: [
    blobs
  ]
  properties: {
    policy: {
      rules: [
        {
          name: 'forget-ignored-events'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                'ignored/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterCreationGreaterThan: retentionDays
                }
              }
            }
          }
        }
      ]
    }
  }
}

output name string = account.name
output packagesUrl string = '${account.properties.primaryEndpoints.blob}packages'
