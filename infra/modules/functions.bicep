// Two apps from one package, and a third one from a package of its own: the lineage page and its API, which only read. The receiver must answer Spark within five seconds, also while the parser is busy. Python runs
// one thread at a time, so the receiver has processes of its own. Each app disables the functions of the other one.
import { functionApp, lineageAccess } from '../types.bicep'

param location string
param tags { *: string }
param planPrefix string
@allowed(['dedicated', 'flex'])
param plan string
param planSize string
param instances int
@description('Spread the machines over the region\'s zones.')
param zoneRedundant bool
@description('Instances of the receiver that are always ready, on Flex Consumption.')
param readyReceivers int
@description('How Flex Consumption replaces a version: RollingUpdate or Recreate.')
param flexUpdate string
param pythonVersion string
param receiver functionApp
param worker functionApp
param lineage functionApp
param access lineageAccess
@description('The receiver\'s deployment slot; empty: none.')
param slotName string
@description('The data account. The worker\'s host keeps its keys and leases there, too.')
param storageAccountName string
@description('On Flex Consumption: the container of the package, in the storage account of each app\'s host.')
param packagesContainer string
param catalogEndpoint string
param settings { *: string }
param componentName string
@description('Empty without a network.')
param subnetId string
@description('Whether calls to public addresses go through the network, too.')
param routeAll bool
@description('Addresses from which code may be deployed; none: all.')
param deployAddresses string[]
@description('Client id of the receiver\'s registration in Entra ID, and those of its callers; empty: no token is asked for.')
param entraApplicationId string
param entraCallers string[]

var flex = plan == 'flex'
var withSlot = !flex && !empty(slotName)
var suffix = environment().suffixes.storage
var withLineage = !empty(access.applicationId)
var allApps = [
  {
    name: 'receiver'
    app: receiver
    threads: '16'
    others: ['parser_function', 'sweeper_function']
    // Always-ready instances for HTTP: the receiver is never cold when the START of a job arrives.
    alwaysReady: [{ name: 'http', instanceCount: readyReceivers }]
    own: {
      THROUGHLINE_STORAGE__blobServiceUri: 'https://${storageAccountName}.blob.${suffix}/'
      THROUGHLINE_STORAGE__tableServiceUri: 'https://${storageAccountName}.table.${suffix}/'
      WEBSITE_HEALTHCHECK_MAXPINGFAILURES: '2'
    }
  }
  {
    name: 'worker'
    app: worker
    threads: '8'
    others: ['receiver_function']
    alwaysReady: []
    own: union({ THROUGHLINE_CATALOG_ENDPOINT: catalogEndpoint }, withLineage ? { THROUGHLINE_DOCUMENT: 'true' } : {})
  }
  {
    name: 'lineage'
    app: lineage
    threads: '16'
    others: []
    alwaysReady: []
    own: {
      THROUGHLINE_STORAGE__blobServiceUri: 'https://${storageAccountName}.blob.${suffix}/'
      THROUGHLINE_STORAGE__tableServiceUri: 'https://${storageAccountName}.table.${suffix}/'
      AzureWebJobsDisableHomepage: 'true' // the page is at the root
    }
  }
]
var apps = withLineage ? allApps : take(allApps, 2)

resource identities 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = [
  for app in apps: {
    name: app.app.identityName
  }
]

resource component 'Microsoft.Insights/components@2020-02-02' existing = { name: componentName }

// A plan of Flex Consumption holds one app; a dedicated one holds both.
var planNames = flex ? map(apps, app => '${planPrefix}${app.name}') : ['${planPrefix}apps']

resource plans 'Microsoft.Web/serverfarms@2025-03-01' = [
  for name in planNames: {
    name: name
    location: location
    tags: tags
    kind: flex ? 'functionapp' : 'linux'
    sku: { name: flex ? 'FC1' : planSize, tier: flex ? 'FlexConsumption' : null, capacity: flex ? null : instances }
    properties: { reserved: true, zoneRedundant: zoneRedundant }
  }
]

// Common parts of an app and its slot. A slot without a deployment needs no machine of its own.
var bodies = [
  for (app, index) in apps: {
    keyVaultReferenceIdentity: resourceId('Microsoft.ManagedIdentity/userAssignedIdentities', app.app.identityName)
    serverFarmId: resourceId('Microsoft.Web/serverfarms', planNames[flex ? index : 0])
    httpsOnly: true
    clientAffinityEnabled: false
    publicNetworkAccess: app.app.public ? 'Enabled' : 'Disabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    outboundVnetRouting: empty(subnetId) ? null : { applicationTraffic: routeAll }
  }
]
// Flex Consumption takes none of the properties of App Service.
var ofAppService = flex ? {} : { linuxFxVersion: 'Python|${pythonVersion}', ftpsState: 'Disabled' }
// Who may call an app, and deploy to it: addresses, or service tags, whose names hold no dot and no colon.
var callers = map(
  apps,
  app =>
    map(range(0, length(app.app.callers)), index => {
      name: 'caller-${index}'
      priority: 100 + index
      action: 'Allow'
      tag: contains(app.app.callers[index], '.') || contains(app.app.callers[index], ':') ? 'Default' : 'ServiceTag'
      ipAddress: app.app.callers[index]
    })
)
var deployers = map(range(0, length(deployAddresses)), index => {
  name: 'deployer-${index}'
  priority: 100 + index
  action: 'Allow'
  ipAddress: deployAddresses[index]
})
var site = [
  for (app, index) in apps: union(
    ofAppService,
    app.name == 'lineage' ? { cors: { allowedOrigins: access.origins } } : {},
    {
      http20Enabled: true
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      ipSecurityRestrictions: callers[index]
      ipSecurityRestrictionsDefaultAction: app.app.open ? 'Allow' : 'Deny'
      scmIpSecurityRestrictionsUseMain: false
      scmIpSecurityRestrictions: deployers
      scmIpSecurityRestrictionsDefaultAction: empty(deployAddresses) ? 'Allow' : 'Deny'
    }
  )
]
// The host answers its start page while it runs. An instance that does not gets no requests after two minutes.
var health = flex ? {} : { healthCheckPath: '/' }

resource sites 'Microsoft.Web/sites@2025-03-01' = [
  for (app, index) in apps: {
    name: app.app.name
    location: location
    tags: union(tags, { 'throughline-app': app.name })
    kind: 'functionapp,linux'
    identity: { type: 'UserAssigned', userAssignedIdentities: { '${identities[index].id}': {} } }
    dependsOn: [plans]
    properties: union(bodies[index], {
      siteConfig: union(site[index], app.name == 'receiver' ? health : {}, flex ? {} : { alwaysOn: true })
      // siteUpdateStrategy is documented and missing in the compiler's types:
      // https://learn.microsoft.com/azure/azure-functions/flex-consumption-site-updates
      #disable-next-line BCP037
      functionAppConfig: flex
        ? {
            deployment: {
              storage: {
                type: 'blobContainer'
                value: 'https://${app.app.hostStorageName}.blob.${suffix}/${packagesContainer}'
                authentication: { type: 'UserAssignedIdentity', userAssignedIdentityResourceId: identities[index].id }
              }
            }
            runtime: { name: 'python', version: pythonVersion }
            scaleAndConcurrency: {
              alwaysReady: app.alwaysReady
              instanceMemoryMB: 2048
              maximumInstanceCount: instances
            }
            siteUpdateStrategy: { type: flexUpdate }
          }
        : null
    })
  }
]

resource slot 'Microsoft.Web/sites/slots@2025-03-01' = if (withSlot) {
  parent: sites[0]
  name: empty(slotName) ? 'none' : slotName
  location: location
  tags: union(tags, { 'throughline-app': 'receiver' })
  kind: 'functionapp,linux'
  identity: { type: 'UserAssigned', userAssignedIdentities: { '${identities[0].id}': {} } }
  properties: union(bodies[0], { siteConfig: union(site[0], health, { alwaysOn: false }) })
}

// Flex Consumption has no such settings, but functionAppConfig.
var ofDedicated = {
  FUNCTIONS_EXTENSION_VERSION: '~4'
  FUNCTIONS_WORKER_RUNTIME: 'python'
  SCM_DO_BUILD_DURING_DEPLOYMENT: 'false'
  WEBSITE_RUN_FROM_PACKAGE: '1'
}
// By default a host's id is the first 32 characters of its name, which an app and its slot share: both hosts would stop.
// So the id is set here, and it is sticky: a swap does not move it.
var hostId = 'AzureFunctionsWebHost__hostid'
// Only the worker gets the credentials of the catalog and of the canary.
var ofWorker = ['THROUGHLINE_CATALOG', 'THROUGHLINE_CANARY_']
var chosen = map(
  apps,
  app =>
    union(
      toObject(
        filter(items(settings), each => app.name == 'worker' || !contains(ofWorker, take(each.key, 19))),
        each => each.key,
        each => each.value
      ),
      toObject(app.others, other => 'AzureWebJobs.${other}.Disabled', other => 'true'),
      { PYTHON_THREADPOOL_THREAD_COUNT: app.threads },
      app.own
    )
)

@description('Settings of a host: its storage and its telemetry, both by its identity.')
func ofHost(account string, domain string, clientId string, connection string) { *: string } => {
  AzureWebJobsStorage__blobServiceUri: 'https://${account}.blob.${domain}/'
  AzureWebJobsStorage__queueServiceUri: 'https://${account}.queue.${domain}/'
  AzureWebJobsStorage__tableServiceUri: 'https://${account}.table.${domain}/'
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: clientId
  APPLICATIONINSIGHTS_CONNECTION_STRING: connection
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${clientId};Authorization=AAD'
}

resource appSettings 'Microsoft.Web/sites/config@2025-03-01' = [
  for (app, index) in apps: {
    parent: sites[index]
    name: 'appsettings'
    properties: union(
      ofHost(
        app.app.hostStorageName,
        suffix,
        identities[index].properties.clientId,
        component.properties.ConnectionString
      ),
      flex ? {} : union(ofDedicated, { '${hostId}': app.name }),
      chosen[index]
    )
  }
]

resource slotSettings 'Microsoft.Web/sites/slots/config@2025-03-01' = if (withSlot) {
  parent: slot
  name: 'appsettings'
  properties: union(
    ofHost(receiver.hostStorageName, suffix, identities[0].properties.clientId, component.properties.ConnectionString),
    ofDedicated,
    { '${hostId}': 'receiver-${slotName}' },
    chosen[0]
  )
}

resource sticky 'Microsoft.Web/sites/config@2025-03-01' = if (withSlot) {
  parent: sites[0]
  name: 'slotConfigNames'
  properties: { appSettingNames: [hostId] }
}

// No user names and passwords for deployment.
resource ftp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = [
  for index in range(0, length(apps)): { parent: sites[index], name: 'ftp', properties: { allow: false } }
]

resource scm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = [
  for index in range(0, length(apps)): { parent: sites[index], name: 'scm', properties: { allow: false } }
]

resource slotFtp 'Microsoft.Web/sites/slots/basicPublishingCredentialsPolicies@2025-03-01' = if (withSlot) {
  parent: slot
  name: 'ftp'
  properties: { allow: false }
}

resource slotScm 'Microsoft.Web/sites/slots/basicPublishingCredentialsPolicies@2025-03-01' = if (withSlot) {
  parent: slot
  name: 'scm'
  properties: { allow: false }
}

// App Service's own authentication: a request without a token of one of the callers gets 401 before the host sees it.
var authentication = {
  platform: { enabled: true }
  globalValidation: { requireAuthentication: true, unauthenticatedClientAction: 'Return401' }
  httpSettings: { requireHttps: true }
  login: { tokenStore: { enabled: false } }
  identityProviders: {
    azureActiveDirectory: {
      enabled: true
      registration: {
        clientId: entraApplicationId
        openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
      }
      validation: {
        allowedAudiences: [entraApplicationId, 'api://${entraApplicationId}']
        defaultAuthorizationPolicy: { allowedApplications: entraCallers }
      }
    }
  }
}

resource tokens 'Microsoft.Web/sites/config@2025-03-01' = if (!empty(entraApplicationId)) {
  parent: sites[0]
  name: 'authsettingsV2'
  properties: authentication
}

resource slotTokens 'Microsoft.Web/sites/slots/config@2025-03-01' = if (withSlot && !empty(entraApplicationId)) {
  parent: slot
  name: 'authsettingsV2'
  properties: authentication
}

// People sign in by their browser with an ID token, so no secret is needed; programs send a token for this registration.
resource readers 'Microsoft.Web/sites/config@2025-03-01' = if (withLineage) {
  parent: sites[withLineage ? 2 : 0]
  name: 'authsettingsV2'
  properties: {
    platform: { enabled: true }
    globalValidation: {
      requireAuthentication: true
      unauthenticatedClientAction: 'RedirectToLoginPage'
      redirectToProvider: 'azureactivedirectory'
    }
    httpSettings: { requireHttps: true }
    login: { tokenStore: { enabled: false } }
    identityProviders: {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: access.applicationId
          openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
        }
        validation: {
          allowedAudiences: [access.applicationId, 'api://${access.applicationId}']
          defaultAuthorizationPolicy: { allowedPrincipals: { groups: access.groups } }
        }
      }
    }
  }
}

output receiverUrl string = 'https://${sites[0].properties.defaultHostName}'
output lineageUrl string = withLineage ? 'https://${sites[2].properties.defaultHostName}' : ''
