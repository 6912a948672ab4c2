// Alerts by mail. Their queries are in infra/queries; the workbook uses them, too. A row is one occurrence.
param location string
param tags { *: string }

@description('Part of every name and title, so that two environments can share a resource group.')
param environmentName string
param actionGroupName string
param workspaceId string
param storageAccountName string

@description('Mail address; empty: alerts are only shown in the portal.')
param email string

// More than `most` rows within `window` raise an alert. `lookBack`: the period of the query, if it is longer than the
// window; at most two days.
var rules = [
  {
    name: 'dead-letters'
    title: 'Events became dead letters'
    severity: 2
    query: loadTextContent('../queries/dead-letters.kql')
    most: 0
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'receiver-errors'
    title: 'The receiver answered with errors: events may be lost'
    severity: 1
    query: loadTextContent('../queries/receiver-errors.kql')
    most: 0
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'receiver-slow'
    title: 'The receiver is slow: listeners wait five seconds and keep nothing'
    severity: 2
    query: loadTextContent('../queries/receiver-slow.kql')
    most: 5
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'worker-failures'
    title: 'Parser or sweeper keep failing'
    severity: 2
    query: loadTextContent('../queries/worker-failures.kql')
    most: 10
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'sweeper-silent'
    title: 'The sweeper does not run'
    severity: 1
    query: loadTextContent('../queries/sweeper-silent.kql')
    most: 0
    window: 'PT15M'
    lookBack: 'P2D'
  }
  {
    name: 'undelivered'
    title: 'Events were not delivered to the parser'
    severity: 3
    query: loadTextContent('../queries/undelivered.kql')
    most: 3
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'oldest-waiting'
    title: 'A run waits for longer than it should'
    severity: 2
    query: loadTextContent('../queries/oldest-waiting.kql')
    most: 10
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'backlog'
    title: 'Lineage reaches the catalog late'
    severity: 3
    query: loadTextContent('../queries/backlog.kql')
    most: 10
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'catalog-away'
    title: 'The catalog is away, throttles or refuses'
    severity: 3
    query: loadTextContent('../queries/catalog-away.kql')
    most: 10
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'announcements'
    title: 'Lineage changed: what, and who is hit'
    severity: 3
    query: loadTextContent('../queries/announcements.kql')
    most: 0
    window: 'PT15M'
    lookBack: null
  }
  {
    name: 'daily-cap'
    title: 'Logs have reached their daily cap: the other alerts see nothing'
    severity: 2
    query: loadTextContent('../queries/daily-cap.kql')
    most: 0
    window: 'P1D' // written once, and true until the next day
    lookBack: null
  }
]

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = {
  name: storageAccountName
}

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(email)) {
  name: actionGroupName
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: 'throughline'
    emailReceivers: [
      {
        name: 'mail'
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

resource queryAlerts 'Microsoft.Insights/scheduledQueryRules@2026-03-01' = [
  for rule in rules: {
    name: 'throughline-${environmentName}-${rule.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: 'Throughline ${environmentName}: ${rule.title}'
      description: 'What it is and what to do: docs/operate/operations.md, alert ${rule.name}.'
      severity: rule.severity
      enabled: true
      autoMitigate: true // one mail at the beginning, one at the end
      skipQueryValidation: true // a new workspace has no tables yet
      evaluationFrequency: 'PT5M'
      windowSize: rule.window
      overrideQueryTimeRange: rule.lookBack
      scopes: [
        workspaceId
      ]
      criteria: {
        allOf: [
          {
            query: rule.query
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: rule.most
            failingPeriods: {
              minFailingPeriodsToAlert: 1
              numberOfEvaluationPeriods: 1
            }
          }
        ]
      }
      actions: {
        actionGroups: empty(email)
          ? []
          : [
              people.id
            ]
      }
    }
  }
]

resource throttling 'Microsoft.Insights/metricAlerts@2026-01-01' = {
  name: 'throughline-${environmentName}-throttling'
  location: 'global'
  tags: tags
  properties: {
    description: 'Throughline ${environmentName}: storage throttles. What to do: docs/operate/operations.md, alert throttling.'
    severity: 2
    enabled: true
    autoMitigate: true
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    scopes: [
      account.id
    ]
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          name: 'throttled'
          criterionType: 'StaticThresholdCriterion'
          metricNamespace: 'Microsoft.Storage/storageAccounts'
          metricName: 'Transactions'
          timeAggregation: 'Total'
          operator: 'GreaterThan'
          threshold: 20
          dimensions: [
            {
              name: 'ResponseType'
              operator: 'Include'
              // Requests that are refused or slowed down by throttling:
              // https://learn.microsoft.com/azure/storage/blobs/monitor-blob-storage-reference#metrics-dimensions
              values: [
                'ClientAccountBandwidthThrottlingError'
                'ClientAccountRequestThrottlingError'
                'ClientThrottlingError'
                'ServerBusyError'
                'ServerTimeoutError'
                'SuccessWithThrottling'
              ]
            }
          ]
        }
      ]
    }
    actions: empty(email)
      ? []
      : [
          {
            actionGroupId: people.id
          }
        ]
  }
}
