// Where logs and telemetry go: one workspace, and Application Insights upon it, which takes nothing without a role.
param location string
param tags { *: string }
param workspaceName string
param componentName string
param storageAccountName string
param retentionDays int

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-07-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionDays
  }
}

resource component 'Microsoft.Insights/components@2020-02-02' = {
  name: componentName
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    DisableLocalAuth: true
    WorkspaceResourceId: workspace.id
  }
}

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = {
  name: storageAccountName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2026-04-01' existing = {
  parent: account
  name: 'default'
}

#disable-next-line use-recent-api-versions // has never left the preview
resource accountDiagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'throughline'
  scope: account
  properties: {
    workspaceId: workspace.id
    metrics: [
      {
        category: 'Transaction'
        enabled: true
      }
    ]
  }
}

// Who deleted what. Reads and writes are not logged: they are several for each event, and cost more than the event.
#disable-next-line use-recent-api-versions // has never left the preview
resource blobDiagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'throughline'
  scope: blobs
  properties: {
    workspaceId: workspace.id
    logs: [
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

output workspaceId string = workspace.id
output componentName string = component.name
output connection string = component.properties.ConnectionString
