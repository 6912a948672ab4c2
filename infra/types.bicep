// Types that several modules share.

@export()
@description('A function app: its identity, the account in which its host keeps keys and leases, and who may call it: the network alone unless `public`; any address if `open`, else `callers` (addresses and service tags).')
type functionApp = {
  name: string
  identityName: string
  hostStorageName: string
  public: bool
  open: bool
  callers: string[]
}

@export()
@description('Who may see the lineage page: members of the groups, who sign in to the registration with this client id (empty: no such app), and pages of these origins.')
type lineageAccess = { applicationId: string, groups: string[], origins: string[] }

@export()
@description('Target of a private endpoint whose name ends so: its resource id, its group id (as blob or sites), and the key of the private DNS zone of its public name.')
type privateTarget = { name: string, resource: string, group: string, zone: string }
