// Throughline in one resource group: storage, two function apps from one package, their identities and roles, monitoring.
// The template contains no key and no secret: every connection uses an identity. Deploying it twice changes nothing.
//
// Modules get names that are made here, not outputs of other modules: `what-if` knows a name before the resource exists,
// and an output only afterwards.
targetScope = 'resourceGroup'

@description('Name of this Throughline, as in lineage-prod. It is part of the names of all resources.')
@minLength(1)
@maxLength(20)
param environmentName string
@description('Region of all resources.')
param location string = resourceGroup().location
@description('The Purview account that gets the lineage.')
@minLength(3)
param purviewAccountName string
@description('The Atlas v2 endpoint, if it is not the Purview account\'s own, as with an Apache Atlas.')
param catalogEndpoint string = ''

@description('dedicated: App Service with Always On, which runs function.json apps. flex: Flex Consumption; the worker scales to zero, receivers are always ready.')
@allowed(['dedicated', 'flex'])
param plan string = 'dedicated'
@description('Size of the dedicated plan. It must offer Always On: B1 or larger. Basic sizes have no deployment slots.')
param planSize string = 'P0v3'
@description('Machines of the dedicated plan. With one, the platform\'s maintenance and a fault lose events. On Flex: the maximum number of instances of each app, at least 40.')
@minValue(1)
@maxValue(1000)
param instances int = plan == 'flex' ? 40 : 2
@description('Spread the plan\'s machines over the region\'s zones. It takes a region with zones, two machines, and a Premium size or Flex.')
param zoneRedundant bool = false
@description('On Flex: instances of the receiver that are always ready. With one, an upgrade leaves a gap.')
@minValue(1)
param readyReceivers int = 2
@description('On Flex: how a version is replaced. RollingUpdate is a preview; Recreate ends all instances at once.')
@allowed(['Recreate', 'RollingUpdate'])
param flexUpdate string = 'RollingUpdate'

@description('Purview collection for new assets and processes: the short name in its address. Empty: the root.')
param collection string = ''
@description('Maximum calls a second to the catalog: fewer than the capacity of the Purview account allows.')
param catalogRate string = '20'
@description('Store events without SQL literals, values of Spark properties, query strings and the like.')
param redact bool = false
@description('Shadow mode: do everything except catalog writes; `throughline shadow` lists what would be written.')
param shadow bool = false
@description('Forward runs by the rules of forward.toml in the package (docs/operate/forward.md).')
param forward bool = false
@description('Any other setting by its name (docs/reference/settings.md), as { THROUGHLINE_APPLICATION_IDLE_MINUTES: \'30\' }.')
param settings { *: string } = {}

@description('Storage only through private endpoints, in a new network or in the subnets given below.')
param privateNetwork bool = false
@description('With privateNetwork: the apps, too, only through private endpoints. With delivery=eventGrid the worker keeps a public address, which only Event Grid may call.')
param privateApps bool = false
@description('With privateNetwork: addresses of the new network, if no subnets are given.')
param networkAddresses string = '10.71.0.0/24'
@description('With privateNetwork: resource id of an existing subnet for the apps, with the delegation of the plan.')
param appsSubnetId string = ''
@description('With privateNetwork: resource id of an existing subnet for private endpoints.')
param endpointsSubnetId string = ''
@description('With a new network: resource ids of what the subnets of apps and operators get, and of a network security group for all.')
param natGatewayId string = ''
param routeTableId string = ''
param networkSecurityGroupId string = ''
@description('With privateNetwork: resource id of the resource group that holds the private DNS zones. Empty: new zones.')
param dnsZonesGroupId string = ''
@description('With privateNetwork: route the apps\' calls to public addresses through the network, too, for example to a firewall.')
param routeAllTraffic bool = false
@description('With privateNetwork: resource id of the Purview account, for a private endpoint to it.')
param purviewAccountId string = ''

@description('How new events reach the parser. eventGrid: by a webhook, which needs a public address. queue: Event Grid fills a storage queue.')
@allowed(['eventGrid', 'queue'])
param delivery string = privateApps ? 'queue' : 'eventGrid'
@description('Name of the account\'s system topic, if others made it: an account has only one.')
param eventTopicName string = ''
@description('Addresses (CIDR) that may call a public receiver. None: all.')
param allowedAddresses string[] = []
@description('Addresses (CIDR) from which code may be deployed to the apps. None: all.')
param deployAddresses string[] = []
@description('Client id of an app registration that stands for the receiver: senders then need a token of Entra ID besides their key.')
param entraApplicationId string = ''
@description('With entraApplicationId: client ids of the applications that may send events.')
param entraCallers string[] = []

@description('Client id of an app registration that people and programs sign in to, to see lineage: makes the app of the page and its API. Empty: none.')
param lineageApplicationId string = ''
@description('With lineageApplicationId: object ids of the Entra ID groups whose members may see all lineage.')
param lineageGroups string[] = []
@description('With lineageApplicationId: origins of web pages that may call the API, as https://wiki.example.com.')
param lineageOrigins string[] = []

@description('Object id of an Entra ID group of people on call, who get the roles that doctor and the commands need.')
param operatorsGroupId string = ''

@description('Days to keep ignored events and logs. Other events are kept for ever.')
@minValue(30)
@maxValue(730)
param retentionDays int = 30
@description('Maximum gigabytes of logs a day. Beyond it no logs are stored until the next day, and most alerts have no data. -1: no cap.')
@minValue(-1)
param dailyCapGb int = 10
@description('Log who deleted which blob. The archive deletes each event\'s blob, so this makes a row for each event.')
param logDeletes bool = false
@description('Log who read which blob. Parser and archive read each event, so this makes two rows for each event.')
param logReads bool = false

@description('Redundancy of the storage accounts. Every region has Standard_LRS; the others need a region with zones or with a pair.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS', 'Standard_RAGRS', 'Standard_RAGZRS'])
param storageRedundancy string = 'Standard_LRS'
@description('Days for which nobody, not even an owner, may delete or change a file of the archive. 0: no immutability policy.')
@minValue(0)
@maxValue(146000)
param archiveImmutableDays int = 0
@description('Lock the account with the events against deletion. Making a lock takes Owner or User Access Administrator.')
param deleteLock bool = true

@description('Mail address for alerts. Without it and actionGroupIds, alerts are only shown in the portal.')
param alertEmail string = ''
@description('Resource ids of existing action groups that get the alerts, too.')
param actionGroupIds string[] = []
@description('Address of docs/operate/operations.md as your people reach it, which each alert names.')
param runbookUrl string = ''
@description('Amount a month, in the subscription\'s currency, near and beyond which a mail is sent. 0: no budget.')
@minValue(0)
param monthlyBudget int = 0
@description('With monthlyBudget: the first day of the month in which the budget was made, as 2026-12-01. It cannot be changed.')
param budgetStart string = ''
@description('Places of Azure Monitor that call the receiver every five minutes, if the internet reaches it. None: no such test.')
param testLocations string[] = ['emea-nl-ams-azr', 'us-va-ash-azr', 'apac-sg-sin-azr']

@description('Tags on every resource.')
param tags { *: string } = {}

// ---- parameters that cannot be combined

var flex = plan == 'flex'
var networkGiven = empty(appsSubnetId) == empty(endpointsSubnetId)
  ? !empty(appsSubnetId)
  : fail('Give both appsSubnetId and endpointsSubnetId, or neither')
var networkParts = '${natGatewayId}${routeTableId}${networkSecurityGroupId}${dnsZonesGroupId}${purviewAccountId}'
var closed = (networkGiven || privateApps || routeAllTraffic || !empty(networkParts)) && !privateNetwork
  ? fail('Subnets and what belongs to them, DNS zones, routeAllTraffic, privateApps and purviewAccountId need privateNetwork=true')
  : privateNetwork
var checkedCallers = empty(entraApplicationId) == empty(entraCallers)
  ? entraCallers
  : fail('Give both entraApplicationId and entraCallers, or neither')

var withLineage = empty(lineageApplicationId) == empty(lineageGroups)
  ? !empty(lineageApplicationId)
  : fail('Give both lineageApplicationId and lineageGroups, or neither')

var premium = flex || startsWith(toUpper(planSize), 'P')
var spread = zoneRedundant && !(premium && instances > 1)
  ? fail('zoneRedundant needs two instances or more, of a Premium size or on Flex')
  : zoneRedundant
var budget = monthlyBudget > 0 && (empty(budgetStart) || empty('${alertEmail}${join(actionGroupIds, '')}'))
  ? fail('monthlyBudget needs budgetStart, and alertEmail or actionGroupIds')
  : monthlyBudget
var checkedInstances = flex && instances < 40
  ? fail('Flex Consumption takes no maximum below 40 instances: leave out instances')
  : instances

// ---- names, which begin with the abbreviations of Microsoft's Cloud Adoption Framework; the one Python version

// The Python version of throughline/package.py; a test compares the two. See docs/contribute/releasing.md.
var pythonVersion = '3.11'
var planPrefix = 'plan-${environmentName}-'
var token = toLower(uniqueString(resourceGroup().id, environmentName, location))
var storageName = 'st${token}'
var receiverStorageName = 'strec${token}'
var lineageStorageName = 'stlin${token}'
var workspaceName = 'log-${environmentName}-${token}'
var workspaceId = resourceId('Microsoft.OperationalInsights/workspaces', workspaceName)
var componentName = 'appi-${environmentName}-${token}'
var topicName = empty(eventTopicName) ? 'evgt-${environmentName}' : eventTopicName
var queueName = delivery == 'queue' ? 'new-events' : ''
var networkName = 'vnet-${environmentName}'
var receiver = {
  name: 'func-${environmentName}-receiver-${token}'
  identityName: 'id-${environmentName}-receiver'
  hostStorageName: receiverStorageName
  public: !privateApps
  open: empty(allowedAddresses)
  callers: empty(allowedAddresses) || empty(testLocations)
    ? allowedAddresses
    : concat(allowedAddresses, ['ApplicationInsightsAvailability'])
}
var worker = {
  name: 'func-${environmentName}-worker-${token}'
  identityName: 'id-${environmentName}-worker'
  hostStorageName: storageName
  public: !privateApps || delivery == 'eventGrid'
  open: false
  callers: delivery == 'eventGrid' ? ['AzureEventGrid'] : []
}
var lineage = {
  name: 'func-${environmentName}-lineage-${token}'
  identityName: 'id-${environmentName}-lineage'
  hostStorageName: lineageStorageName
  public: !privateApps
  open: true // people sign in
  callers: []
}
// Neither Flex Consumption nor App Service's Basic sizes have slots.
var slotName = flex || startsWith(toUpper(planSize), 'B') ? '' : 'staging'
var packages = flex ? ['packages'] : []
var immutable = archiveImmutableDays > 0 ? ['archive'] : []
var allTags = union(tags, { 'azd-env-name': environmentName })

// ---- hosts of each cloud that environment() does not give

var hosts = {
  AzureCloud: { purview: 'purview.azure.com', apps: 'azurewebsites.net' }
  AzureUSGovernment: { purview: 'purview.azure.us', apps: 'azurewebsites.us' }
  AzureChinaCloud: { purview: 'purview.azure.cn', apps: 'chinacloudsites.cn' }
}[environment().name]
var ownEndpoint = 'https://${purviewAccountName}.${hosts.purview}/datamap/api/atlas/v2'

// Settings to decide before the first event have parameters of their own.
var decided = {
  THROUGHLINE_COLLECTION: collection
  THROUGHLINE_FORWARD: forward ? '/home/site/wwwroot/forward.toml' : ''
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
var accounts = concat(
  [
    { prefix: '', id: resourceId('Microsoft.Storage/storageAccounts', storageName) }
    { prefix: 'receiver-', id: resourceId('Microsoft.Storage/storageAccounts', receiverStorageName) }
  ],
  withLineage ? [{ prefix: 'lineage-', id: resourceId('Microsoft.Storage/storageAccounts', lineageStorageName) }] : []
)
var storageTargets = flatten(map(
  accounts,
  each =>
    map(
      ['blob', 'queue', 'table'],
      kind => { name: '${each.prefix}${kind}', resource: each.id, group: kind, zone: kind }
    )
))
var purviewTargets = map(empty(purviewAccountId) ? [] : [purviewAccountId], id => {
  name: 'purview'
  resource: id
  group: 'account'
  zone: 'purview'
})
var appTargets = [
  for each in concat(
    receiver.public ? [] : [{ name: 'receiver', app: receiver.name, group: 'sites' }],
    receiver.public || empty(slotName)
      ? []
      : [{ name: 'receiver-${slotName}', app: receiver.name, group: 'sites-${slotName}' }],
    worker.public ? [] : [{ name: 'worker', app: worker.name, group: 'sites' }],
    lineage.public || !withLineage ? [] : [{ name: 'lineage', app: lineage.name, group: 'sites' }]
  ): { name: each.name, resource: resourceId('Microsoft.Web/sites', each.app), group: each.group, zone: 'apps' }
]

// The receiver's identity can neither read the queue nor write to the catalog.
resource identities 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = [
  for app in concat([receiver, worker], withLineage ? [lineage] : []): {
    name: app.identityName
    location: location
    tags: allTags
  }
]

module network 'modules/network.bicep' = if (makeNetwork) {
  params: {
    location: location
    tags: allTags
    name: networkName
    addresses: networkAddresses
    delegation: flex ? 'Microsoft.App/environments' : 'Microsoft.Web/serverFarms'
    natGatewayId: natGatewayId
    routeTableId: routeTableId
    securityGroupId: networkSecurityGroupId
    securityGroupName: 'nsg-${environmentName}'
  }
}

module storage 'modules/storage.bicep' = {
  params: {
    location: location
    tags: allTags
    name: storageName
    redundancy: storageRedundancy
    privateNetwork: closed
    containers: concat(['events', 'ignored'], withLineage ? ['published'] : [], immutable, packages)
    archiveImmutableDays: archiveImmutableDays
    tables: ['applications', 'excluded', 'refused']
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

module lineageStorage 'modules/storage.bicep' = if (withLineage) {
  params: {
    location: location
    tags: allTags
    name: lineageStorageName
    redundancy: storageRedundancy
    privateNetwork: closed
    containers: packages
  }
}

module privateEndpoints 'modules/private-endpoints.bicep' = if (closed) {
  dependsOn: [lineageStorage, network, receiverStorage, storage]
  params: {
    location: location
    tags: allTags
    prefix: 'pep-${environmentName}-'
    subnetId: endpointsSubnet
    zonesGroupId: dnsZonesGroupId
    zoneNames: zoneNames
    targets: concat(storageTargets, purviewTargets)
  }
}

module monitoring 'modules/monitoring.bicep' = {
  dependsOn: [storage]
  params: {
    location: location
    tags: allTags
    workspaceName: workspaceName
    componentName: componentName
    storageAccountName: storageName
    retentionDays: retentionDays
    dailyCapGb: dailyCapGb
    audited: concat(logDeletes ? ['StorageDelete'] : [], logReads ? ['StorageRead'] : [])
  }
}

module roles 'modules/roles.bicep' = {
  dependsOn: [identities, monitoring, receiverStorage, storage]
  params: {
    storageAccountName: storageName
    receiverStorageAccountName: receiverStorageName
    componentName: componentName
    receiverIdentityName: receiver.identityName
    workerIdentityName: worker.identityName
    operatorsGroupId: operatorsGroupId
  }
}

module lineageRoles 'modules/lineage-roles.bicep' = if (withLineage) {
  dependsOn: [identities, lineageStorage, monitoring, storage]
  params: {
    storageAccountName: storageName
    hostStorageAccountName: lineageStorageName
    componentName: componentName
    identityName: lineage.identityName
  }
}

module functions 'modules/functions.bicep' = {
  dependsOn: [
    network
    privateEndpoints
    lineageRoles
    roles // an app that starts before it may read its storage fails
  ]
  params: {
    location: location
    tags: allTags
    planPrefix: planPrefix
    plan: plan
    planSize: planSize
    instances: checkedInstances
    zoneRedundant: spread
    readyReceivers: readyReceivers
    pythonVersion: pythonVersion
    receiver: receiver
    worker: worker
    lineage: lineage
    access: { applicationId: withLineage ? lineageApplicationId : '', groups: lineageGroups, origins: lineageOrigins }
    slotName: slotName
    storageAccountName: storageName
    packagesContainer: 'packages'
    catalogEndpoint: empty(catalogEndpoint) ? ownEndpoint : catalogEndpoint
    settings: union(decided, settings)
    componentName: componentName
    subnetId: appsSubnet
    routeAll: routeAllTraffic
    flexUpdate: flexUpdate
    deployAddresses: deployAddresses
    entraApplicationId: entraApplicationId
    entraCallers: checkedCallers
  }
}

module appEndpoints 'modules/private-endpoints.bicep' = if (privateApps) {
  dependsOn: [functions, privateEndpoints]
  params: {
    location: location
    tags: allTags
    prefix: 'pep-${environmentName}-'
    subnetId: endpointsSubnet
    zonesGroupId: dnsZonesGroupId
    zoneNames: zoneNames
    targets: appTargets
  }
}

module topic 'modules/events.bicep' = {
  dependsOn: [monitoring, storage]
  params: {
    location: location
    tags: allTags
    name: topicName
    given: !empty(eventTopicName)
    storageAccountName: storageName
    workspaceId: workspaceId
    queue: queueName
  }
}

module alerts 'modules/alerts.bicep' = {
  dependsOn: [functions, monitoring, storage]
  params: {
    location: location
    tags: allTags
    environmentName: environmentName
    actionGroupName: 'ag-${environmentName}'
    workspaceId: workspaceId
    componentName: componentName
    storageAccountName: storageName
    receiverName: receiver.name
    receiverPlanId: resourceId('Microsoft.Web/serverfarms', '${planPrefix}${flex ? 'receiver' : 'apps'}')
    receiverPublic: receiver.public
    flex: flex
    testLocations: testLocations
    email: alertEmail
    actionGroupIds: actionGroupIds
    runbookUrl: runbookUrl
    monthlyBudget: budget
    budgetStart: budgetStart
  }
}

module workbook 'modules/workbook.bicep' = {
  dependsOn: [monitoring]
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
output WORKER_PRINCIPAL_ID string = identities[1].properties.principalId
output LINEAGE_NAME string = withLineage ? lineage.name : ''
output LINEAGE_URL string = functions.outputs.lineageUrl
output STORAGE_ACCOUNT_NAME string = storageName
output DELIVERY string = delivery
output EVENT_TOPIC_NAME string = topicName
output ENTRA_APPLICATION_ID string = entraApplicationId
