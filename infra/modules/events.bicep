// The topic of notifications about new blobs. subscription.bicep adds the subscription when the parser is deployed.
param location string
param tags { *: string }
param name string
param storageAccountName string
param workspaceId string

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = {
  name: storageAccountName
}

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' = {
  name: name
  location: location
  tags: tags
  properties: {
    source: account.id
    topicType: 'Microsoft.Storage.StorageAccounts'
  }
}

// Besides the version of 2016 there are only previews: diagnostic settings have never left the preview.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'throughline'
  scope: topic
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        categoryGroup: 'allLogs'
        enabled: true
      }
    ]
  }
}
