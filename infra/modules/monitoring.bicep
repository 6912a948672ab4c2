// Logs and telemetry: one workspace, and Application Insights on it, which accepts no data without a role.
// Nothing is stored twice: functions and host send to Application Insights alone (host.json says which lines), platform
// metrics are kept by Azure Monitor itself, free of charge, for 93 days.
param location string
param tags { *: string }
param workspaceName string
param componentName string
param storageAccountName string
param retentionDays int
param dailyCapGb int
@description('Operations on blobs that are logged, as StorageDelete.')
param audited string[]

// Tables of the functions, their host and the exporter. By default they keep rows for 90 days; each is set here:
// https://learn.microsoft.com/azure/azure-monitor/logs/data-retention-configure#log-tables-with-90-day-default-retention
var ownTables = [
  'AppDependencies'
  'AppExceptions'
  'AppMetrics'
  'AppPerformanceCounters'
  'AppRequests'
  'AppTraces'
]

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-07-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: retentionDays
    workspaceCapping: { dailyQuotaGb: dailyCapGb }
  }
}

@batchSize(1) // the service refuses to change two tables at the same time
resource tables 'Microsoft.OperationalInsights/workspaces/tables@2025-07-01' = [
  for name in ownTables: {
    parent: workspace
    name: name
    properties: { plan: 'Analytics', retentionInDays: retentionDays, totalRetentionInDays: retentionDays }
  }
]

resource component 'Microsoft.Insights/components@2020-02-02' = {
  name: componentName
  location: location
  tags: tags
  kind: 'web'
  properties: { Application_Type: 'web', DisableLocalAuth: true, WorkspaceResourceId: workspace.id }
}

// Application Insights makes this rule by itself, for people by their roles. It is declared to be off: alerts.json sees
// the same failures, and a company's own list of rules is complete.
resource anomalies 'microsoft.alertsManagement/smartDetectorAlertRules@2021-04-01' = {
  name: 'Failure Anomalies - ${componentName}'
  location: 'global'
  tags: tags
  properties: {
    state: 'Disabled'
    severity: 'Sev3'
    frequency: 'PT1M'
    detector: { id: 'FailureAnomaliesDetector' }
    scope: [component.id]
    actionGroups: { groupIds: [] }
  }
}

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = if (!empty(audited)) {
  name: storageAccountName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2026-04-01' existing = if (!empty(audited)) {
  parent: account
  name: 'default'
}

#disable-next-line use-recent-api-versions // diagnostic settings have never left the preview
resource audit 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(audited)) {
  name: 'throughline'
  scope: blobs
  properties: { workspaceId: workspace.id, logs: map(audited, category => { category: category, enabled: true }) }
}
