"""Amazon S3. Purview's types, but the form of their names is not documented, so a table's name comes first.

Mounts of old notebooks have an access key before the bucket's name; it is removed.
"""

from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_path

RULES: tuple[NamingRule, ...] = (
    rule(
        "s3-path",
        type="aws_s3_v2_directory",
        namespace="s3://(?P<bucket>.+)",
        path="(?P<path>.*)",
        to="s3://{bucket}/{path}",
        because="Purview's type for folders in S3; not verified that a scan names them so",
        decides=False,
        also=(AlternateName(type="aws_s3_v2_resource_set", to="s3://{bucket}/{path}/{{SparkPartitions}}"),),
    ),
)


def without_user(rest: str, name: str) -> tuple[str, str]:
    """Normalise bucket and path; the part of the authority before an `@` is a secret."""
    authority, slash, behind = rest.partition("/")
    return as_path(authority.rpartition("@")[2] + slash + behind, name)


STORES: tuple[StoreFamily, ...] = (
    StoreFamily(schemes=("s3", "s3a", "s3n"), fold=without_user, rules=RULES, has_paths=True),
)
