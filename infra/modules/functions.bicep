// Two apps from one package. The receiver must answer Spark within five seconds whatever the parser is doing: Python runs
// one thread at a time, so it gets processes of its own. Each app has the other one's functions switched off.
param location string
param tags object
param planPrefix string
param appPrefix string
param token string

@allowed([
  'dedicated'
  'flex'
])
param plan string
param planSize string
param instances int
param pythonVersion string
param catalogEndpoint string
param settings object
param storageAccountName string
param packagesUrl string
param receiverIdentity object
param workerIdentity object

@description('Where telemetry goes. It names the place and opens nothing: sending needs a role.')
param insightsConnection string

@description('Empty without a network.')
param subnetId string

var flex = plan == 'flex'
var apps = [
  {
    name: 'receiver'
    identity: receiverIdentity
    threads: '16'
    others: [
      'parser_function'
      'sweeper_function'
    ]
    // One instance that is always there for HTTP: it is never cold when a job's START comes.
    alwaysReady: [
      {
        name: 'http'
        instanceCount: 1
      }
    ]
    own: {}
  }
  {
    name: 'worker'
    identity: workerIdentity
    threads: '8'
    others: [
      'receiver_function'
      'batch_function'
    ]
    alwaysReady: []
    own: {
      THROUGHLINE_CATALOG_ENDPOINT: catalogEndpoint
    }
  }
]

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: storageAccountName
}

// A plan of Flex Consumption holds one app; a dedicated one holds both.
var planNames = flex ? [
  'receiver'
  'worker'
] : [
  'apps'
]

resource plans 'Microsoft.Web/serverfarms@2024-04-01' = [for name in planNames: {
  name: '${planPrefix}${name}'
  location: location
  tags: tags
  kind: flex ? 'functionapp' : 'linux'
  sku: {
    name: flex ? 'FC1' : planSize
    tier: flex ? 'FlexConsumption' : null
    capacity: flex ? null : instances
  }
  properties: {
    reserved: true
  }
}]

resource sites 'Microsoft.Web/sites@2024-04-01' = [for (app, index) in apps: {
  name: '${appPrefix}${app.name}-${token}'
  location: location
  tags: union(tags, { 'throughline-app': app.name })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${app.identity.id}': {}
    }
  }
  properties: {
    keyVaultReferenceIdentity: app.identity.id
    serverFarmId: plans[flex ? index : 0].id
    httpsOnly: true
    clientAffinityEnabled: false
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    siteConfig: {
      alwaysOn: flex ? null : true
      linuxFxVersion: flex ? null : 'Python|${pythonVersion}'
      ftpsState: 'Disabled'
      http20Enabled: true
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
    }
    functionAppConfig: flex ? {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packagesUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: app.identity.id
          }
        }
      }
      runtime: {
        name: 'python'
        version: pythonVersion
      }
      scaleAndConcurrency: {
        alwaysReady: app.alwaysReady
        instanceMemoryMB: 2048
        maximumInstanceCount: instances
      }
    } : null
  }
}]

resource appSettings 'Microsoft.Web/sites/config@2024-04-01' = [for (app, index) in apps: {
  parent: sites[index]
  name: 'appsettings'
  properties: union({
    AzureWebJobsStorage__blobServiceUri: account.properties.primaryEndpoints.blob
    AzureWebJobsStorage__queueServiceUri: account.properties.primaryEndpoints.queue
    AzureWebJobsStorage__tableServiceUri: account.properties.primaryEndpoints.table
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: app.identity.clientId
    APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnection
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${app.identity.clientId};Authorization=AAD'
    PYTHON_THREADPOOL_THREAD_COUNT: app.threads
  }, flex ? {} : { // Flex Consumption has no such settings: functionAppConfig says it
    FUNCTIONS_EXTENSION_VERSION: '~4'
    FUNCTIONS_WORKER_RUNTIME: 'python'
    SCM_DO_BUILD_DURING_DEPLOYMENT: 'false'
    WEBSITE_RUN_FROM_PACKAGE: '1'
  }, toObject(app.others, other => 'AzureWebJobs.${other}.Disabled', other => 'true'), toObject(
    // What opens the catalog is for the worker alone.
    filter(items(settings), each => app.name == 'worker' || !startsWith(each.key, 'THROUGHLINE_CATALOG_')),
    each => each.key,
    each => each.value
  ), app.own)
}]

// No user names and passwords for deployment either.
resource ftp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = [for (app, index) in apps: {
  parent: sites[index]
  name: 'ftp'
  properties: {
    allow: false
  }
}]

resource scm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = [for (app, index) in apps: {
  parent: sites[index]
  name: 'scm'
  properties: {
    allow: false
  }
}]

output receiverName string = sites[0].name
output receiverUrl string = 'https://${sites[0].properties.defaultHostName}'
output workerName string = sites[1].name
