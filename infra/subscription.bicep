// Second step of a deployment with Event Grid: Event Grid validates the webhook, so the parser must be deployed before.
// The platform makes the webhook's key, which is read here; no file, parameter or output contains it.
targetScope = 'resourceGroup'

param topicName string
param workerName string

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' existing = { name: topicName }
resource app 'Microsoft.Web/sites@2025-03-01' existing = { name: workerName }

var hook = 'https://${app.properties.defaultHostName}/runtime/webhooks/blobs?functionName=Host.Functions.parser_function'
var hookKey = listKeys('${app.id}/host/default', '2025-03-01').systemKeys.blobs_extension

resource blobCreated 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: 'events'
  properties: {
    destination: {
      endpointType: 'WebHook'
      properties: { endpointUrl: '${hook}&code=${hookKey}', maxEventsPerBatch: 1 }
    }
    eventDeliverySchema: 'EventGridSchema'
    filter: {
      includedEventTypes: ['Microsoft.Storage.BlobCreated']
      subjectBeginsWith: '/blobServices/default/containers/events/'
    }
    retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 }
  }
}
