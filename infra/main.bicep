// Throughline in one resource group: storage, two function apps from one package, their identities and roles, monitoring.
// There is no key and no secret in it: every connection is an identity. Deploying it twice changes nothing.
//
// Modules get names that are made here, not each other's outputs: `what-if` knows a name before anything exists, an output
// only afterwards.
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

@description('The Atlas v2 end point, where it is not the account\'s own in this cloud, as with an Apache Atlas.')
param catalogEndpoint string = ''

@description('dedicated: App Service, always on, known to run function.json apps. flex: Flex Consumption, scales to zero beside one ready receiver.')
@allowed([
  'dedicated'
  'flex'
])
param plan string = 'dedicated'

@description('Size of the dedicated plan. It must offer Always On: B1 or larger. Basic sizes have no deployment slots.')
param planSize string = 'P0v3'

@description('Machines of the dedicated plan; on Flex the most instances that each app may grow to (at least 40 there).')
@minValue(1)
@maxValue(1000)
param instances int = plan == 'flex' ? 40 : 1

@description('On Flex: instances of the receiver that are always ready. With one, an upgrade leaves a gap.')
@minValue(1)
param readyReceivers int = 2

@description('How the parser hears of new events. Flex Consumption only knows eventGrid.')
@allowed([
  'eventGrid'
  'polling'
])
param delivery string = 'eventGrid'

@description('Purview\'s collection for our own assets and processes: the short name in its address. Empty: the root.')
param collection string = ''

@description('Calls a second that the catalog gets at most: fewer than the capacity of the Purview account allows.')
param catalogRate string = '20'

@description('Events are stored without literals in SQL, Spark\'s properties, query strings and the like.')
param redact bool = false

@description('All is done but writing to the catalog: to look first at what would be written.')
param shadow bool = false

@description('Any other setting by its name (docs/settings.md), as { THROUGHLINE_APPLICATION_IDLE_MINUTES: \'30\' }.')
param settings { *: string } = {}

@description('Storage is reached through private end points only, from a network that is made here or given below.')
param privateNetwork bool = false

@description('With privateNetwork: the receiver too takes requests through a private end point only. So does the worker where delivery is polling; Event Grid calls it from outside the network.')
param privateApps bool = false

@description('With privateNetwork: addresses of the network that is made, where no subnets are given.')
param networkAddresses string = '10.71.0.0/24'

@description('With privateNetwork: resource id of an existing subnet for the apps, delegated as the plan needs it.')
param appsSubnetId string = ''

@description('With privateNetwork: resource id of an existing subnet for private end points.')
param endpointsSubnetId string = ''

@description('With privateNetwork: resource id of the resource group that holds the private DNS zones. Empty: they are made here.')
param dnsZonesGroupId string = ''

@description('With privateNetwork: the apps\' calls to public addresses leave by the network as well, as for a firewall there.')
param routeAllTraffic bool = false

@description('With privateNetwork: resource id of the Purview account, to reach it by a private end point.')
param purviewAccountId string = ''

@description('Days that ignored events and logs are kept. Events that lineage is made of are kept for ever.')
@minValue(30)
@maxValue(730)
param retentionDays int = 30

@description('Gigabytes of logs a day after which no more are stored until the next day, and alerts see nothing. -1: no cap.')
@minValue(-1)
param dailyCapGb int = 10

@description('Log who deleted which blob: a row for each event too, since the archive deletes its blob.')
param logDeletes bool = false

@description('Redundancy of the storage accounts. Every region takes Standard_LRS; the others only where the region has zones, or a pair.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
  'Standard_GRS'
  'Standard_GZRS'
])
param storageRedundancy string = 'Standard_LRS'

@description('The account with the events is locked against deletion. Making a lock takes Owner or User Access Administrator.')
param deleteLock bool = true

@description('Who gets alerts by mail; without it alerts are only shown.')
param alertEmail string = ''

@description('Tags on every resource.')
param tags { *: string } = {}

// ---- what can't be combined

var flex = plan == 'flex'
var checkedDelivery = flex && delivery == 'polling'
  ? fail('Flex Consumption has no polling blob trigger: leave out delivery, or choose plan=dedicated')
  : delivery
var networkGiven = empty(appsSubnetId) == empty(endpointsSubnetId)
  ? !empty(appsSubnetId)
  : fail('Give both appsSubnetId and endpointsSubnetId, or neither')
var networkAsked = networkGiven || privateApps || routeAllTraffic || !empty(dnsZonesGroupId) || !empty(purviewAccountId)
var closed = networkAsked && !privateNetwork
  ? fail('Subnets, DNS zones, routeAllTraffic, privateApps and purviewAccountId need privateNetwork=true')
  : privateNetwork

// ---- names, and the one Python version

// The version that local/package.py compiles the package for: a test holds the two together. docs/operate/deploy.md, "Which plan".
var pythonVersion = '3.11'
var abbreviations = loadJsonContent('abbreviations.json')
var token = toLower(uniqueString(resourceGroup().id, environmentName, location))
var storageName = '${abbreviations.storageStorageAccounts}${token}'
var receiverStorageName = '${abbreviations.storageStorageAccounts}rec${token}'
var workspaceName = '${abbreviations.operationalInsightsWorkspaces}${environmentName}-${token}'
var workspaceId = resourceId('Microsoft.OperationalInsights/workspaces', workspaceName)
var componentName = '${abbreviations.insightsComponents}${environmentName}-${token}'
var topicName = '${abbreviations.eventGridSystemTopics}${environmentName}'
var networkName = '${abbreviations.networkVirtualNetworks}${environmentName}'
var receiver = {
  name: '${abbreviations.webSitesFunctions}${environmentName}-receiver-${token}'
  identityName: '${abbreviations.managedIdentityUserAssignedIdentities}${environmentName}-receiver'
  hostStorageName: receiverStorageName
  public: !privateApps
}
var worker = {
  name: '${abbreviations.webSitesFunctions}${environmentName}-worker-${token}'
  identityName: '${abbreviations.managedIdentityUserAssignedIdentities}${environmentName}-worker'
  hostStorageName: storageName
  public: !privateApps || checkedDelivery == 'eventGrid'
}
// Neither Flex Consumption nor App Service's Basic sizes have slots.
var slotName = flex || startsWith(toUpper(planSize), 'B') ? '' : 'staging'
var packages = flex ? ['packages'] : []
var allTags = union(tags, { 'azd-env-name': environmentName })

// ---- hosts that the cloud decides, and that environment() does not name

var hosts = {
  AzureCloud: {
    purview: 'purview.azure.com'
    apps: 'azurewebsites.net'
  }
  AzureUSGovernment: {
    purview: 'purview.azure.us'
    apps: 'azurewebsites.us'
  }
  AzureChinaCloud: {
    purview: 'purview.azure.cn'
    apps: 'chinacloudsites.cn'
  }
}[environment().name]
var ownEndpoint = 'https://${purviewAccountName}.${hosts.purview}/datamap/api/atlas/v2'

// What has to be decided before the first event comes has a parameter of its own.
var decided = {
  THROUGHLINE_COLLECTION: collection
  THROUGHLINE_MAX_CATALOG_RATE: catalogRate
  THROUGHLINE_REDACT: string(redact)
  THROUGHLINE_SHADOW: string(shadow)
}

// ---- the network

var makeNetwork = closed && !networkGiven
var ownSubnet = map(
  ['apps', 'endpoints'],
  each => resourceId('Microsoft.Network/virtualNetworks/subnets', networkName, each)
)
var appsSubnet = !closed ? '' : networkGiven ? appsSubnetId : ownSubnet[0]
var endpointsSubnet = networkGiven ? endpointsSubnetId : ownSubnet[1]
var zoneNames = {
  apps: 'privatelink.${hosts.apps}'
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  purview: 'privatelink.${hosts.purview}'
  queue: 'privatelink.queue.${environment().suffixes.storage}'
  table: 'privatelink.table.${environment().suffixes.storage}'
}
var storageTargets = [
  for each in [
    { name: 'blob', account: storageName, group: 'blob' }
    { name: 'queue', account: storageName, group: 'queue' }
    { name: 'table', account: storageName, group: 'table' }
    { name: 'receiver-blob', account: receiverStorageName, group: 'blob' }
    { name: 'receiver-queue', account: receiverStorageName, group: 'queue' }
    { name: 'receiver-table', account: receiverStorageName, group: 'table' }
  ]: {
    name: each.name
    resource: resourceId('Microsoft.Storage/storageAccounts', each.account)
    group: each.group
    zone: each.group
  }
]
var purviewTargets = empty(purviewAccountId)
  ? []
  : [
      {
        name: 'purview'
        resource: purviewAccountId
        group: 'account'
        zone: 'purview'
      }
    ]
var appTargets = [
  for each in concat(
    receiver.public ? [] : [{ name: 'receiver', app: receiver.name, group: 'sites' }],
    receiver.public || empty(slotName)
      ? []
      : [{ name: 'receiver-${slotName}', app: receiver.name, group: 'sites-${slotName}' }],
    worker.public ? [] : [{ name: 'worker', app: worker.name, group: 'sites' }]
  ): {
    name: each.name
    resource: resourceId('Microsoft.Web/sites', each.app)
    group: each.group
    zone: 'apps'
  }
]

module identities 'modules/identity.bicep' = {
  params: {
    location: location
    tags: allTags
    receiverName: receiver.identityName
    workerName: worker.identityName
  }
}

module network 'modules/network.bicep' = if (makeNetwork) {
  params: {
    location: location
    tags: allTags
    name: networkName
    addresses: networkAddresses
    delegation: flex ? 'Microsoft.App/environments' : 'Microsoft.Web/serverFarms'
  }
}

module storage 'modules/storage.bicep' = {
  params: {
    location: location
    tags: allTags
    name: storageName
    redundancy: storageRedundancy
    privateNetwork: closed
    containers: concat(['events', 'ignored'], packages)
    tables: ['refused', 'runs']
    ignoredDays: retentionDays
    deleteLock: deleteLock
  }
}

module receiverStorage 'modules/storage.bicep' = {
  params: {
    location: location
    tags: allTags
    name: receiverStorageName
    redundancy: storageRedundancy
    privateNetwork: closed
    containers: packages
  }
}

module privateEndpoints 'modules/private-endpoints.bicep' = if (closed) {
  dependsOn: [
    network
    receiverStorage
    storage
  ]
  params: {
    location: location
    tags: allTags
    prefix: '${abbreviations.networkPrivateEndpoints}${environmentName}-'
    subnetId: endpointsSubnet
    zonesGroupId: dnsZonesGroupId
    zoneNames: zoneNames
    targets: concat(storageTargets, purviewTargets)
  }
}

module monitoring 'modules/monitoring.bicep' = {
  dependsOn: [
    storage
  ]
  params: {
    location: location
    tags: allTags
    workspaceName: workspaceName
    componentName: componentName
    storageAccountName: storageName
    retentionDays: retentionDays
    dailyCapGb: dailyCapGb
    logDeletes: logDeletes
  }
}

module roles 'modules/roles.bicep' = {
  dependsOn: [
    identities
    monitoring
    receiverStorage
    storage
  ]
  params: {
    storageAccountName: storageName
    receiverStorageAccountName: receiverStorageName
    componentName: componentName
    receiverIdentityName: receiver.identityName
    workerIdentityName: worker.identityName
    delivery: checkedDelivery
  }
}

module functions 'modules/functions.bicep' = {
  dependsOn: [
    network
    privateEndpoints
    roles // an app that starts before it may read its storage does not start
  ]
  params: {
    location: location
    tags: allTags
    planPrefix: '${abbreviations.webServerFarms}${environmentName}-'
    plan: plan
    planSize: planSize
    instances: instances
    readyReceivers: readyReceivers
    pythonVersion: pythonVersion
    receiver: receiver
    worker: worker
    slotName: slotName
    storageAccountName: storageName
    packagesContainer: 'packages'
    catalogEndpoint: empty(catalogEndpoint) ? ownEndpoint : catalogEndpoint
    settings: union(decided, settings)
    componentName: componentName
    subnetId: appsSubnet
    routeAll: routeAllTraffic
  }
}

module appEndpoints 'modules/private-endpoints.bicep' = if (privateApps) {
  dependsOn: [
    functions
    privateEndpoints
  ]
  params: {
    location: location
    tags: allTags
    prefix: '${abbreviations.networkPrivateEndpoints}${environmentName}-'
    subnetId: endpointsSubnet
    zonesGroupId: dnsZonesGroupId
    zoneNames: zoneNames
    targets: appTargets
  }
}

module topic 'modules/events.bicep' = if (checkedDelivery == 'eventGrid') {
  dependsOn: [
    monitoring
    storage
  ]
  params: {
    location: location
    tags: allTags
    name: topicName
    storageAccountName: storageName
    workspaceId: workspaceId
  }
}

module alerts 'modules/alerts.bicep' = {
  dependsOn: [
    monitoring
    storage
  ]
  params: {
    location: location
    tags: allTags
    environmentName: environmentName
    actionGroupName: '${abbreviations.insightsActionGroups}${environmentName}'
    workspaceId: workspaceId
    storageAccountName: storageName
    email: alertEmail
  }
}

module workbook 'modules/workbook.bicep' = {
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

output RECEIVER_NAME string = receiver.name
output RECEIVER_URL string = functions.outputs.receiverUrl
output RECEIVER_SLOT string = slotName
output WORKER_NAME string = worker.name
output WORKER_PRINCIPAL_ID string = identities.outputs.workerPrincipalId
output STORAGE_ACCOUNT_NAME string = storageName
output DELIVERY string = checkedDelivery
output EVENT_TOPIC_NAME string = checkedDelivery == 'eventGrid' ? topicName : ''
