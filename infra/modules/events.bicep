// Event Grid's topic of the account with the events. With delivery=queue its notices go to a storage queue, by the topic's
// identity. With delivery=eventGrid subscription.bicep adds the webhook of the parser, when that is deployed.
param location string
param tags { *: string }
param name string
@description('An account has one system topic: whether it exists already, made by others.')
param given bool
param storageAccountName string
param workspaceId string
@description('The queue of the notices; empty: a webhook gets them.')
param queue string

var grant = filter(loadJsonContent('../roles.json'), row => row.to == 'topic')[0]

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = { name: storageAccountName }

resource queues 'Microsoft.Storage/storageAccounts/queueServices@2026-04-01' = if (!empty(queue)) {
  parent: account
  name: 'default'
}

resource notices 'Microsoft.Storage/storageAccounts/queueServices/queues@2026-04-01' = if (!empty(queue)) {
  parent: queues
  name: empty(queue) ? 'none' : queue
}

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' = if (!given) {
  name: name
  location: location
  tags: tags
  identity: empty(queue) ? null : { type: 'SystemAssigned' }
  properties: { source: account.id, topicType: 'Microsoft.Storage.StorageAccounts' }
}

// The same topic, also where others made it: it needs a system-assigned identity then.
resource eitherTopic 'Microsoft.EventGrid/systemTopics@2025-02-15' existing = { name: name }

resource sender 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(queue)) {
  name: guid(notices.id, name, grant.role)
  scope: notices
  dependsOn: [topic]
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
    principalId: eitherTopic.identity.principalId
    principalType: 'ServicePrincipal'
    description: grant.reason
  }
}

resource toQueue 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = if (!empty(queue)) {
  parent: eitherTopic
  name: 'events'
  dependsOn: [topic, sender]
  properties: {
    deliveryWithResourceIdentity: {
      identity: { type: 'SystemAssigned' }
      destination: {
        endpointType: 'StorageQueue'
        properties: { resourceId: account.id, queueName: notices.name, queueMessageTimeToLiveInSeconds: 604800 }
      }
    }
    eventDeliverySchema: 'EventGridSchema'
    filter: {
      includedEventTypes: ['Microsoft.Storage.BlobCreated']
      subjectBeginsWith: '/blobServices/default/containers/events/'
    }
    retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 }
  }
}

// Besides the version of 2016 there are only previews: diagnostic settings have never left the preview.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'throughline'
  scope: eitherTopic
  dependsOn: [topic]
  properties: { workspaceId: workspaceId, logs: [{ categoryGroup: 'allLogs', enabled: true }] }
}
