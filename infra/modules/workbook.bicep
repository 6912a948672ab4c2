// The workbook: the alerts' queries and a few more, each as a table or a chart (workbook.json).
import { queries } from '../queries.bicep'

param location string
param tags { *: string }
param environmentName string
param workspaceId string

var parts = loadJsonContent('../workbook.json')

// Choices of the time parameter, in milliseconds: an hour, four, a day, three, a week, 30 days.
var periods = [3600000, 14400000, 86400000, 259200000, 604800000, 2592000000]

var period = {
  type: 9
  version: 'KqlParameterItem/1.0'
  content: {
    version: 'KqlParameterItem/1.0'
    crossComponentResources: [workspaceId]
    parameters: [
      {
        id: guid(environmentName, 'period')
        version: 'KqlParameterItem/1.0'
        name: 'Period'
        type: 4
        isRequired: true
        value: { durationMs: 86400000 }
        typeSettings: { selectableValues: map(periods, each => { durationMs: each }), allowCustom: true }
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
      query: queries[part.query]
      size: 0
      title: part.title
      timeContextFromParameter: 'Period'
      queryType: 0
      resourceType: 'microsoft.operationalinsights/workspaces'
      crossComponentResources: [workspaceId]
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
      fallbackResourceIds: [workspaceId]
    })
  }
}
