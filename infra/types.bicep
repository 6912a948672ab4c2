// Types that several modules share.

@export()
@description('A function app: its name, its identity, and the account in which its host keeps keys and leases.')
type functionApp = {
  name: string
  identityName: string
  hostStorageName: string

  @description('Whether requests from outside the network are accepted.')
  public: bool
}

@export()
@description('What a private end point leads to.')
type privateTarget = {
  @description('Ends the name of the private end point.')
  name: string

  @description('Resource id of the target.')
  resource: string

  @description('The target\'s group id (sub-resource), as in blob or sites.')
  group: string

  @description('Key of the private DNS zone that answers for its public name.')
  zone: string
}
