// Private endpoints in one subnet, and the DNS zones that resolve the public names of their targets to them.
import { privateTarget } from '../types.bicep'

param location string
param tags { *: string }
param prefix string
param subnetId string
param targets privateTarget[]
@description('Names of the private DNS zones by the keys that the targets use.')
param zoneNames { *: string }
@description('Resource id of the resource group that holds the private DNS zones; empty: new zones.')
param zonesGroupId string

// By key, not by name: the number of zones must be known before the cloud is known.
var zonesHere = empty(zonesGroupId) ? union(map(targets, each => each.zone), []) : []
var zoneIds = map(
  targets,
  each =>
    empty(zonesGroupId)
      ? resourceId('Microsoft.Network/privateDnsZones', zoneNames[each.zone])
      : '${zonesGroupId}/providers/Microsoft.Network/privateDnsZones/${zoneNames[each.zone]}'
)

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for zone in zonesHere: {
    name: zoneNames[zone]
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (zone, index) in zonesHere: {
    parent: zones[index]
    name: 'throughline'
    location: 'global'
    tags: tags
    properties: { registrationEnabled: false, virtualNetwork: { id: split(subnetId, '/subnets/')[0] } }
  }
]

resource endpoints 'Microsoft.Network/privateEndpoints@2025-05-01' = [
  for target in targets: {
    name: '${prefix}${target.name}'
    location: location
    tags: tags
    properties: {
      subnet: { id: subnetId }
      privateLinkServiceConnections: [
        { name: target.name, properties: { privateLinkServiceId: target.resource, groupIds: [target.group] } }
      ]
    }
  }
]

resource groups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = [
  for (target, index) in targets: {
    parent: endpoints[index]
    name: 'default'
    dependsOn: [zones, links]
    properties: { privateDnsZoneConfigs: [{ name: target.group, properties: { privateDnsZoneId: zoneIds[index] } }] }
  }
]
