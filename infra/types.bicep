// Types that several modules share.

@export()
@description('A function app: its name, its identity, and the account in which its host keeps keys and leases.')
type functionApp = {
  name: string
  identityName: string
  hostStorageName: string

  @description('Whether requests from outside the network are accepted.')
  public: bool

  @description('Whether they are accepted from any address; else from `callers` only: addresses and service tags.')
  open: bool
  callers: string[]
}

@export()
@description('Target of a private endpoint.')
type privateTarget = {
  @description('Suffix of the private endpoint\'s name.')
  name: string

  @description('Resource id of the target.')
  resource: string

  @description('The target\'s group id (sub-resource), as in blob or sites.')
  group: string

  @description('Key of the private DNS zone of its public name.')
  zone: string
}
