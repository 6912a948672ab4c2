// Alerts, and who gets them. Queries are in infra/queries; alerts.json has a row for each rule over the log: more than
// `most` rows within `window` raise it; `lookBack` is the period of a query that is longer than the window, at most two
// days. The rules below it need no log: they also see an app that is stopped, unreachable or gone.
import { queries } from '../queries.bicep'

param location string
param tags { *: string }

@description('Part of every name and title, so that two environments can share a resource group.')
param environmentName string
param actionGroupName string
param workspaceId string
param componentName string
param storageAccountName string
param receiverName string

@description('Resource id of the receiver\'s plan.')
param receiverPlanId string

@description('Flex Consumption has neither a health check nor the metrics of App Service.')
param flex bool

@description('Whether the internet reaches the receiver, so that a test can call it.')
param receiverPublic bool

@description('Azure Monitor\'s places from which the receiver is called; none: no test.')
param testLocations string[]

@description('Mail address; empty: no mail.')
param email string

@description('Resource ids of existing action groups that get the alerts, too.')
param actionGroupIds string[]

@description('Address of the page that says what to do; empty: its path in the repository.')
param runbookUrl string

@description('Amount a month, in the subscription\'s currency, near and beyond which the same people get a mail. 0: no budget.')
param monthlyBudget int

@description('First day of the month in which the budget was made.')
param budgetStart string

var runbook = empty(runbookUrl) ? 'docs/operate/operations.md' : runbookUrl
var prefix = 'throughline-${environmentName}'
var title = 'Throughline ${environmentName}'
var rules = loadJsonContent('../alerts.json')
var ownGroup = resourceId('Microsoft.Insights/actionGroups', actionGroupName)
var groupIds = concat(actionGroupIds, empty(email) ? [] : [ownGroup])
var metricActions = map(groupIds, id => { actionGroupId: id })
var tested = receiverPublic && !empty(testLocations)

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = { name: storageAccountName }

resource receiver 'Microsoft.Web/sites@2025-03-01' existing = { name: receiverName }

resource component 'Microsoft.Insights/components@2020-02-02' existing = { name: componentName }

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(email)) {
  name: actionGroupName
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: 'throughline'
    emailReceivers: [{ name: 'mail', emailAddress: email, useCommonAlertSchema: true }]
  }
}

resource queryAlerts 'Microsoft.Insights/scheduledQueryRules@2026-03-01' = [
  for rule in rules: {
    name: '${prefix}-${rule.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    dependsOn: [people]
    properties: {
      displayName: '${title}: ${rule.title}'
      description: 'What it is and what to do: ${runbook}, alert ${rule.name}.'
      severity: rule.severity
      enabled: true
      autoMitigate: true // one mail at the beginning, one at the end
      skipQueryValidation: true // a new workspace has no tables yet
      evaluationFrequency: 'PT5M'
      windowSize: rule.?window ?? 'PT15M'
      overrideQueryTimeRange: rule.?lookBack
      scopes: [workspaceId]
      criteria: {
        allOf: [
          {
            query: queries[rule.name]
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: rule.most
            failingPeriods: { minFailingPeriodsToAlert: 1, numberOfEvaluationPeriods: 1 }
          }
        ]
      }
      actions: { actionGroups: groupIds, customProperties: { alert: rule.name, runbook: runbook } }
    }
  }
]

// Rules over metrics, each of one resource.
var allMetricRules = [
  {
    name: 'throttling'
    what: 'Storage throttles'
    severity: 2
    scope: account.id
    namespace: 'Microsoft.Storage/storageAccounts'
    metric: 'Transactions'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 20
    frequency: 'PT5M'
    window: 'PT15M'
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
  {
    name: 'receiver-unhealthy'
    what: 'Instances of the receiver do not answer the health check'
    severity: 1
    scope: receiver.id
    namespace: 'Microsoft.Web/sites'
    metric: 'HealthCheckStatus' // of 100; with two instances and one that does not answer: 50
    aggregation: 'Average'
    operator: 'LessThan'
    threshold: 60
    frequency: 'PT1M'
    window: 'PT5M'
    dimensions: []
  }
  {
    name: 'receiver-5xx'
    what: 'The receiver\'s address answers with 5xx: events may be lost'
    severity: 1
    scope: receiver.id
    namespace: 'Microsoft.Web/sites'
    metric: 'Http5xx' // also what the front end answers for an app that does not run
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 3
    frequency: 'PT1M'
    window: 'PT5M'
    dimensions: []
  }
]

var metricRules = filter(allMetricRules, rule => !flex || rule.namespace != 'Microsoft.Web/sites')

resource metricAlerts 'Microsoft.Insights/metricAlerts@2026-01-01' = [
  for rule in metricRules: {
    name: '${prefix}-${rule.name}'
    location: 'global'
    tags: tags
    dependsOn: [people]
    properties: {
      description: '${title}: ${rule.what}. What to do: ${runbook}, alert ${rule.name}.'
      severity: rule.severity
      enabled: true
      autoMitigate: true
      evaluationFrequency: rule.frequency
      windowSize: rule.window
      scopes: [rule.scope]
      criteria: {
        'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
        allOf: [
          {
            name: rule.name
            criterionType: 'StaticThresholdCriterion'
            metricNamespace: rule.namespace
            metricName: rule.metric
            timeAggregation: rule.aggregation
            operator: rule.operator
            threshold: rule.threshold
            dimensions: rule.dimensions
          }
        ]
      }
      actions: metricActions
    }
  }
]

// Rules over the subscription's activity log: the platform's own faults, and what people did.
var activityRules = [
  {
    name: 'resource-health'
    what: 'Azure reports the receiver, its plan or the storage account as unhealthy'
    scopes: [receiver.id, receiverPlanId, account.id]
    conditions: [
      { field: 'category', equals: 'ResourceHealth' }
      { field: 'properties.currentHealthStatus', containsAny: ['Degraded', 'Unavailable'] }
      { field: 'status', containsAny: ['Active', 'In Progress', 'Updated'] }
    ]
  }
  {
    name: 'receiver-stopped'
    what: 'Somebody stopped or deleted the receiver: events are lost'
    scopes: [receiver.id]
    conditions: [
      { field: 'category', equals: 'Administrative' }
      { field: 'operationName', containsAny: ['Microsoft.Web/sites/stop/Action', 'Microsoft.Web/sites/delete'] }
      { field: 'status', equals: 'Succeeded' }
    ]
  }
]

resource activityAlerts 'Microsoft.Insights/activityLogAlerts@2026-01-01' = [
  for rule in activityRules: {
    name: '${prefix}-${rule.name}'
    location: 'global'
    tags: tags
    dependsOn: [people]
    properties: {
      description: '${title}: ${rule.what}. What to do: ${runbook}, alert ${rule.name}.'
      enabled: true
      scopes: rule.scopes
      condition: { allOf: rule.conditions }
      actions: { actionGroups: metricActions }
    }
  }
]

// An empty POST without a key: the front end, the certificate, the plan and the host answer it, and nothing is stored.
resource availability 'Microsoft.Insights/webtests@2022-06-15' = if (tested) {
  name: '${prefix}-receiver'
  location: location
  tags: union(tags, { 'hidden-link:${component.id}': 'Resource' })
  kind: 'standard'
  properties: {
    SyntheticMonitorId: '${prefix}-receiver'
    Name: '${title}: the receiver answers'
    Enabled: true
    Frequency: 300
    Timeout: 30
    Kind: 'standard'
    RetryEnabled: true
    Locations: map(testLocations, each => { Id: each })
    Request: {
      RequestUrl: 'https://${receiver.properties.defaultHostName}/api/v1/lineage'
      HttpVerb: 'POST'
      ParseDependentRequests: false
      FollowRedirects: false
    }
    ValidationRules: { ExpectedHttpStatusCode: 401, SSLCheck: true, SSLCertRemainingLifetimeCheck: 7 }
  }
}

resource unreachable 'Microsoft.Insights/metricAlerts@2026-01-01' = if (tested) {
  name: '${prefix}-receiver-down'
  location: 'global'
  tags: tags
  dependsOn: [people]
  properties: {
    description: '${title}: the receiver does not answer: events are lost. What to do: ${runbook}, alert receiver-down.'
    severity: 0
    enabled: true
    autoMitigate: true
    evaluationFrequency: 'PT1M'
    windowSize: 'PT5M'
    scopes: [availability.id, component.id]
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.WebtestLocationAvailabilityCriteria'
      webTestId: availability.id
      componentId: component.id
      failedLocationCount: min(2, length(testLocations))
    }
    actions: metricActions
  }
}

var shares = [{ type: 'Actual', of: 80 }, { type: 'Actual', of: 100 }, { type: 'Forecasted', of: 110 }]

resource budget 'Microsoft.Consumption/budgets@2026-06-01' = if (monthlyBudget > 0) {
  name: prefix
  dependsOn: [people]
  properties: {
    category: 'Cost'
    amount: monthlyBudget
    timeGrain: 'Monthly'
    timePeriod: { startDate: budgetStart }
    notifications: toObject(shares, share => '${share.type}${share.of}', share => {
      enabled: true
      operator: 'GreaterThan'
      threshold: share.of
      thresholdType: share.type
      contactEmails: empty(email) ? [] : [email]
      contactGroups: actionGroupIds
    })
  }
}
