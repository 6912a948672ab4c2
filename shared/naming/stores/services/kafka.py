"""Kafka, and Event Hubs by its Kafka endpoint. No Purview scan names topics: the name is ours, the type Atlas'.

A `subscribe` of several topics arrives as one name, `orders,routed`; `split_names` splits it first.
"""

from shared.naming.rules.rule import NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_name

RULES: tuple[NamingRule, ...] = (
    rule(
        "kafka-topic",
        type="kafka_topic",
        namespace="kafka://(?P<brokers>.+)",
        path="(?P<topic>.+)",
        to="kafka://{brokers}/{topic}",
        because="Atlas' type for topics; no scan of Purview names them",
    ),
)


def split_names(namespace: str, name: str) -> tuple[tuple[str, str], ...]:
    """The data sets of a namespace and name: each topic of a list in Kafka, else just that one."""
    if "," not in name or not namespace.lower().startswith("kafka:"):
        return ((namespace, name),)
    topics = dict.fromkeys(topic.strip() for topic in name.split(","))
    return tuple((namespace, topic) for topic in topics if topic) or ((namespace, name),)


STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("kafka",), fold=as_name, rules=RULES),)
