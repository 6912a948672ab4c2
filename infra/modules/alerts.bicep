// Alerts, and who gets them: alerts.json. A rule over the log has its query in infra/queries: more than `most` rows within
// `window` raise it; `lookBack` is the period of a query that is longer than the window, at most two days. Rules over
// metrics and over the activity log need no log of ours: they also see an app that is stopped, unreachable or gone.
// HealthCheckStatus is of 100: with two instances, one of which does not answer, 50. Http5xx also counts what the front
// end answers for an app that does not run. ResponseType has the answers that throttling gives:
// https://learn.microsoft.com/azure/storage/blobs/monitor-blob-storage-reference#metrics-dimensions
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
  for rule in rules.log: {
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

// Flex Consumption has neither a health check nor the metrics of App Service.
var metricRules = filter(rules.metric, rule => !flex || rule.of != 'receiver')
var ids = { receiver: receiver.id, plan: receiverPlanId, storage: account.id }
var namespaces = { receiver: 'Microsoft.Web/sites', storage: 'Microsoft.Storage/storageAccounts' }

resource metricAlerts 'Microsoft.Insights/metricAlerts@2026-01-01' = [
  for rule in metricRules: {
    name: '${prefix}-${rule.name}'
    location: 'global'
    tags: tags
    dependsOn: [people]
    properties: {
      description: '${title}: ${rule.title}. What to do: ${runbook}, alert ${rule.name}.'
      severity: rule.severity
      enabled: true
      autoMitigate: true
      evaluationFrequency: rule.frequency
      windowSize: rule.window
      scopes: [ids[rule.of]]
      criteria: {
        'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
        allOf: [
          {
            name: rule.name
            criterionType: 'StaticThresholdCriterion'
            metricNamespace: namespaces[rule.of]
            metricName: rule.metric
            timeAggregation: rule.aggregation
            operator: rule.operator
            threshold: rule.threshold
            dimensions: map(items(rule.?only ?? {}), row => { name: row.key, operator: 'Include', values: row.value })
          }
        ]
      }
      actions: metricActions
    }
  }
]

resource activityAlerts 'Microsoft.Insights/activityLogAlerts@2026-01-01' = [
  for rule in rules.activity: {
    name: '${prefix}-${rule.name}'
    location: 'global'
    tags: tags
    dependsOn: [people]
    properties: {
      description: '${title}: ${rule.title}. What to do: ${runbook}, alert ${rule.name}.'
      enabled: true
      scopes: map(rule.of, name => ids[name])
      condition: {
        allOf: concat(
          [{ field: 'category', equals: rule.category }],
          map(items(rule.any), row => { field: row.key, containsAny: row.value })
        )
      }
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
