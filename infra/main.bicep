// Throughline in one resource group: storage, two function apps from one package, their identities and roles, monitoring.
// There is no key and no secret in it: every connection is an identity. Deploying it twice changes nothing.
targetScope = 'resourceGroup'

@description('Name of this Throughline, as in lineage-prod. It is part of the names of all resources.')
@minLength(1)
@maxLength(20)
param environmentName string

@description('Region of all resources.')
param location string = resourceGroup().location

@description('The Purview account that the lineage goes to.')
@minLength(3)
param purviewAccountName string

@description('The Atlas v2 end point, where it is not that of the account: a sovereign cloud, or the unified portal.')
param catalogEndpoint string = 'https://${purviewAccountName}.purview.azure.com/datamap/api/atlas/v2'

@description('dedicated: App Service, always on, known to run function.json apps. flex: Flex Consumption, scales to zero beside one ready receiver.')
@allowed([
  'dedicated'
  'flex'
])
param plan string = 'dedicated'

@description('Size of the dedicated plan. It must offer Always On: B1 or larger.')
param planSize string = 'P0v3'

@description('Machines of the dedicated plan; on Flex the most instances that each app may grow to (at least 40 there).')
@minValue(1)
@maxValue(1000)
param instances int = plan == 'flex' ? 40 : 1

@description('How the parser hears of new events. Flex Consumption only knows eventGrid.')
@allowed([
  'polling'
  'eventGrid'
])
param delivery string = plan == 'flex' ? 'eventGrid' : 'polling'

@description('Python of the function apps: the one that the package was made for.')
@allowed([
  '3.11'
  '3.12'
])
param pythonVersion string = '3.11'

@description('Purview\'s collection for our own assets and processes: the short name in its address. Empty: the root.')
param collection string = ''

@description('Calls a second that the catalog gets at most: fewer than the capacity of the Purview account allows.')
param catalogRate string = '20'

@description('Events are stored without literals in SQL, Spark\'s properties, query strings and the like.')
param redact bool = false

@description('All is done but writing to the catalog: to look first at what would be written.')
param shadow bool = false

@description('Any other setting by its name (docs/settings.md), as { THROUGHLINE_QUIET_MINUTES: \'30\' }.')
param settings object = {}

@description('Storage is reached through private end points only. The receiver stays public: listeners post to it.')
param privateNetwork bool = false

@description('Days that ignored events and logs are kept. Events that lineage is made of are kept for ever.')
@minValue(30)
@maxValue(730)
param retentionDays int = 30

@description('Gigabytes of logs a day after which no more are stored until the next day, and alerts see nothing. -1: no cap.')
@minValue(-1)
param dailyCapGb int = 10

@description('Log who deleted which blob: a row for each event too, since the archive deletes its blob.')
param logDeletes bool = false

@description('Redundancy of the storage account.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
  'Standard_GRS'
])
param storageRedundancy string = 'Standard_ZRS'

@description('Who gets alerts by mail; without it alerts are only shown.')
param alertEmail string = ''

@description('Tags on every resource.')
param tags object = {}

var abbreviations = loadJsonContent('abbreviations.json')
var token = toLower(uniqueString(resourceGroup().id, environmentName, location))
// What has to be decided before the first event comes has a parameter of its own.
var decided = {
  THROUGHLINE_COLLECTION: collection
  THROUGHLINE_CATALOG_RATE: catalogRate
  THROUGHLINE_REDACT: string(redact)
  THROUGHLINE_SHADOW: string(shadow)
}
var workspaceName = '${abbreviations.operationalInsightsWorkspaces}${environmentName}-${token}'
var workspaceId = resourceId('Microsoft.OperationalInsights/workspaces', workspaceName)
var allTags = union(tags, { 'azd-env-name': environmentName })

module identities 'modules/identity.bicep' = {
  name: 'identities'
  params: {
    location: location
    tags: allTags
    prefix: '${abbreviations.managedIdentityUserAssignedIdentities}${environmentName}-'
  }
}

module network 'modules/network.bicep' = if (privateNetwork) {
  name: 'network'
  params: {
    location: location
    tags: allTags
    name: '${abbreviations.networkVirtualNetworks}${environmentName}'
    delegation: plan == 'flex' ? 'Microsoft.App/environments' : 'Microsoft.Web/serverFarms'
  }
}

module storage 'modules/storage.bicep' = {
  name: 'storage'
  params: {
    location: location
    tags: allTags
    name: '${abbreviations.storageStorageAccounts}${token}'
    redundancy: storageRedundancy
    retentionDays: retentionDays
    privateNetwork: privateNetwork
  }
}

module privateEndpoints 'modules/private-endpoints.bicep' = if (privateNetwork) {
  name: 'private-endpoints'
  params: {
    location: location
    tags: allTags
    prefix: '${abbreviations.networkPrivateEndpoints}${environmentName}-'
    storageAccountName: storage.outputs.name
    virtualNetworkId: network.?outputs.?id ?? ''
    subnetId: network.?outputs.?endpointsSubnetId ?? ''
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  params: {
    location: location
    tags: allTags
    workspaceName: workspaceName
    componentName: '${abbreviations.insightsComponents}${environmentName}-${token}'
    storageAccountName: storage.outputs.name
    retentionDays: retentionDays
    dailyCapGb: dailyCapGb
    logDeletes: logDeletes
  }
}

module roles 'modules/roles.bicep' = {
  name: 'roles'
  params: {
    storageAccountName: storage.outputs.name
    componentName: monitoring.outputs.componentName
    principalIds: {
      receiver: identities.outputs.receiver.principalId
      worker: identities.outputs.worker.principalId
    }
  }
}

module functions 'modules/functions.bicep' = {
  name: 'functions'
  dependsOn: [
    roles // an app that starts before it may read its storage does not start
    privateEndpoints
  ]
  params: {
    location: location
    tags: allTags
    planPrefix: '${abbreviations.webServerFarms}${environmentName}-'
    appPrefix: '${abbreviations.webSitesFunctions}${environmentName}-'
    token: token
    plan: plan
    planSize: planSize
    instances: instances
    pythonVersion: pythonVersion
    catalogEndpoint: catalogEndpoint
    settings: union(decided, settings)
    storageAccountName: storage.outputs.name
    packagesUrl: storage.outputs.packagesUrl
    receiverIdentity: identities.outputs.receiver
    workerIdentity: identities.outputs.worker
    insightsConnection: monitoring.outputs.connection
    subnetId: network.?outputs.?appsSubnetId ?? ''
  }
}

module topic 'modules/events.bicep' = if (delivery == 'eventGrid') {
  name: 'events'
  params: {
    location: location
    tags: allTags
    name: '${abbreviations.eventGridSystemTopics}${environmentName}'
    storageAccountName: storage.outputs.name
    workspaceId: monitoring.outputs.workspaceId
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts'
  dependsOn: [
    monitoring
  ]
  params: {
    location: location
    tags: allTags
    environmentName: environmentName
    actionGroupName: '${abbreviations.insightsActionGroups}${environmentName}'
    workspaceId: workspaceId
    storageAccountName: storage.outputs.name
    email: alertEmail
  }
}

module workbook 'modules/workbook.bicep' = {
  name: 'workbook'
  dependsOn: [
    monitoring
  ]
  params: {
    location: location
    tags: allTags
    environmentName: environmentName
    workspaceId: workspaceId
  }
}

output RECEIVER_NAME string = functions.outputs.receiverName
output RECEIVER_URL string = functions.outputs.receiverUrl
output WORKER_NAME string = functions.outputs.workerName
output WORKER_PRINCIPAL_ID string = identities.outputs.worker.principalId
output STORAGE_ACCOUNT_NAME string = storage.outputs.name
output DELIVERY string = delivery
output EVENT_TOPIC_NAME string = topic.?outputs.?name ?? ''
