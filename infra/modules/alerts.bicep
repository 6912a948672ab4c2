// What somebody should be told of. The queries lie in infra/queries and are the workbook's too: a row is one occurrence.
param location string
param tags { *: string }
param actionGroupName string
param workspaceId string
param storageAccountName string
param email string

var rules = [
  {
    name: 'dead-letters'
    title: 'Events became dead letters'
    severity: 2
    query: loadTextContent('../queries/dead-letters.kql')
    most: 0
  }
  {
    name: 'receiver-errors'
    title: 'The receiver answered with errors: events may be lost'
    severity: 1
    query: loadTextContent('../queries/receiver-errors.kql')
    most: 0
  }
  {
    name: 'receiver-slow'
    title: 'The receiver is slow: listeners wait five seconds and keep nothing'
    severity: 2
    query: loadTextContent('../queries/receiver-slow.kql')
    most: 5
  }
  {
    name: 'worker-failures'
    title: 'Parser or sweeper keep failing'
    severity: 2
    query: loadTextContent('../queries/worker-failures.kql')
    most: 10
  }
  {
    name: 'sweeper-silent'
    title: 'The sweeper does not run'
    severity: 1
    query: loadTextContent('../queries/sweeper-silent.kql')
    most: 0
  }
  {
    name: 'undelivered'
    title: 'Events were not delivered to the parser'
    severity: 3
    query: loadTextContent('../queries/undelivered.kql')
    most: 3
  }
  {
    name: 'oldest-waiting'
    title: 'A run waits for longer than it should'
    severity: 2
    query: loadTextContent('../queries/oldest-waiting.kql')
    most: 10
  }
  {
    name: 'backlog'
    title: 'Lineage reaches the catalog late'
    severity: 3
    query: loadTextContent('../queries/backlog.kql')
    most: 10
  }
  {
    name: 'catalog-away'
    title: 'The catalog is away, throttles or refuses'
    severity: 3
    query: loadTextContent('../queries/catalog-away.kql')
    most: 10
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
    name: 'throughline-${rule.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: rule.title
      severity: rule.severity
      enabled: true
      autoMitigate: true
      skipQueryValidation: true // a new workspace has no tables yet
      evaluationFrequency: 'PT5M'
      windowSize: 'PT15M'
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
  name: 'throughline-storage-throttling'
  location: 'global'
  tags: tags
  properties: {
    description: 'Storage throttles Throughline'
    severity: 2
    enabled: true
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
              values: [
                'ServerBusyError'
                'ClientThrottlingError'
                'ServerTimeoutError'
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
