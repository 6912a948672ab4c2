// The workbook: the alerts' queries and a few more, each as a table or a chart.
param location string
param tags { *: string }
param environmentName string
param workspaceId string

var parts = [
  {
    title: 'Events by what became of them'
    view: 'table'
    query: loadTextContent('../queries/counts.kql')
  }
  {
    title: 'Events by answer'
    view: 'timechart'
    query: loadTextContent('../queries/received.kql')
  }
  {
    title: 'Functions: calls, failures, milliseconds'
    view: 'table'
    query: loadTextContent('../queries/durations.kql')
  }
  {
    title: 'Lag: seconds until lineage is in the catalog'
    view: 'timechart'
    query: loadTextContent('../queries/lag.kql')
  }
  {
    title: 'Waiting for their end, waiting to be published'
    view: 'timechart'
    query: loadTextContent('../queries/waiting.kql')
  }
  {
    title: 'Runs that wait for too long'
    view: 'table'
    query: loadTextContent('../queries/oldest-waiting.kql')
  }
  {
    title: 'Processes that wait for too long'
    view: 'table'
    query: loadTextContent('../queries/backlog.kql')
  }
  {
    title: 'Jobs that fail most'
    view: 'table'
    query: loadTextContent('../queries/failing-jobs.kql')
  }
  {
    title: 'Coverage: jobs by the share of their runs that gave lineage'
    view: 'table'
    query: loadTextContent('../queries/coverage.kql')
  }
  {
    title: 'Changes of lineage that were announced'
    view: 'table'
    query: loadTextContent('../queries/announcements.kql')
  }
  {
    title: 'Dead letters'
    view: 'table'
    query: loadTextContent('../queries/dead-letters.kql')
  }
  {
    title: 'Answers that may have cost an event'
    view: 'table'
    query: loadTextContent('../queries/receiver-errors.kql')
  }
  {
    title: 'Slow answers'
    view: 'table'
    query: loadTextContent('../queries/receiver-slow.kql')
  }
  {
    title: 'Failed invocations of parser and sweeper'
    view: 'table'
    query: loadTextContent('../queries/worker-failures.kql')
  }
  {
    title: 'What the sweeper found undelivered'
    view: 'table'
    query: loadTextContent('../queries/undelivered.kql')
  }
  {
    title: 'The sweeper, when it is silent'
    view: 'table'
    query: loadTextContent('../queries/sweeper-silent.kql')
  }
  {
    title: 'The catalog, when it did not take something'
    view: 'table'
    query: loadTextContent('../queries/catalog-away.kql')
  }
  {
    title: 'Days on which logs reached their cap'
    view: 'table'
    query: loadTextContent('../queries/daily-cap.kql')
  }
]

// Choices of the time parameter, in milliseconds: an hour, four, a day, three, a week, 30 days.
var periods = [
  3600000
  14400000
  86400000
  259200000
  604800000
  2592000000
]

var period = {
  type: 9
  version: 'KqlParameterItem/1.0'
  content: {
    version: 'KqlParameterItem/1.0'
    crossComponentResources: [
      workspaceId
    ]
    parameters: [
      {
        id: guid(environmentName, 'period')
        version: 'KqlParameterItem/1.0'
        name: 'Period'
        type: 4
        isRequired: true
        value: {
          durationMs: 86400000
        }
        typeSettings: {
          selectableValues: map(periods, each => { durationMs: each })
          allowCustom: true
        }
      }
    ]
    style: 'pills'
    queryType: 0
    resourceType: 'microsoft.operationalinsights/workspaces'
  }
  name: 'period'
}

var tiles = [
  for part in parts: {
    type: 3
    content: {
      version: 'KqlItem/1.0'
      query: part.query
      size: 0
      title: part.title
      timeContextFromParameter: 'Period'
      queryType: 0
      resourceType: 'microsoft.operationalinsights/workspaces'
      crossComponentResources: [
        workspaceId
      ]
      visualization: part.view
      noDataMessage: 'Nothing in this period.'
    }
    name: part.title
  }
]

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, environmentName, 'throughline')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Throughline ${environmentName}'
    category: 'workbook'
    sourceId: workspaceId
    serializedData: string({
      version: 'Notebook/1.0'
      items: concat([period], tiles)
      fallbackResourceIds: [
        workspaceId
      ]
    })
  }
}
