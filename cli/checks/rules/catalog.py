"""Rules for the way to the catalog, and for what may be wrong inside it."""

from cli.checks.rules.rule import Rule

_GRANT = "throughline purview grant --account {account} --collection {collection} --principal {principal}"

CATALOG = (
    Rule(
        code="catalog-name",
        symptom="the catalog's host name has no address, though other names have one",
        means="The account's name is misspelt, or the private DNS zone `privatelink.purview.azure.com` is not linked "
        "to this network.",
        command="az resource list --resource-type Microsoft.Purview/accounts --query [].name --output tsv",
    ),
    Rule(
        code="no-network",
        symptom="no name outside has an address",
        means="This machine has no way out, or its way is a proxy that is not set.",
        command="export HTTPS_PROXY=http://PROXY:PORT",
    ),
    Rule(
        code="catalog-identity",
        symptom="no token for the catalog",
        means="Nobody is signed in. Besides `az login`, the variables of a service principal count (AZURE_TENANT_ID, "
        "AZURE_CLIENT_ID, AZURE_CLIENT_SECRET), and a managed identity.",
        command="az login",
    ),
    Rule(
        code="catalog-tenant",
        symptom="the catalog answers 401",
        means="It does not take the token: the account belongs to another tenant, or the fixed token is wrong.",
        command="az login --tenant {tenant}",
    ),
    Rule(
        code="catalog-closed",
        symptom="the catalog refuses every call with 403",
        means="The account's firewall keeps this network out, or no collection has a role for who is signed in.",
        command=_GRANT,
    ),
    Rule(
        code="catalog-away",
        symptom="the catalog does not answer as it should",
        means="It is away, throttles, or its firewall (Purview account, Networking) drops the calls of this network.",
        command="throughline doctor --catalog",
    ),
    Rule(
        code="catalog-refused",
        symptom="the catalog refuses a call, neither with 401 nor with 403",
        means="`THROUGHLINE_CATALOG_ENDPOINT` is not the address of a catalog, or the catalog lacks types.",
        command="throughline types plan",
    ),
    Rule(
        code="catalog-role",
        symptom="no collection is shown, writes are refused with 403, or what was written cannot be read",
        means="The identity lacks Data Curator in the collection. Purview takes some minutes to apply a new role.",
        command=_GRANT,
    ),
    Rule(
        code="collection-wrong",
        symptom="the collection that is set does not exist, or is not shown",
        means="`THROUGHLINE_COLLECTION` is the short name in the collection's address, not the name that is shown.",
        command="export THROUGHLINE_COLLECTION={collection}",
    ),
    Rule(
        code="types-missing",
        symptom="the catalog lacks types that lineage needs",
        means="It refuses what is named so. Where a rule of the file of names has the wrong type, correct the rule "
        "instead.",
        command="throughline types apply",
    ),
    Rule(
        code="types-differ",
        symptom="a type of the catalog is not as lineage needs it",
        means="A type of somebody else is never changed: name another type in the rule.",
        command="throughline types plan",
    ),
    Rule(
        code="catalog-refuses",
        symptom="the catalog refuses a process as it is",
        means="The catalog's own answer says why; mostly it lacks a type. It is tried again, ever less often, and "
        "holds up nothing else.",
        command="throughline types plan",
    ),
)
