"""The configuration of Atlas: the files in its home, and the command that starts it.

docs/reference/apache-atlas.md gives the reasons. The properties are documented on Atlas' own configuration page, except
those of the embedded Solr, which only its source names.
"""

from pathlib import Path

from throughline.local.atlas.install import Installed

LOG = Path("log") / "atlas.log"

_PROPERTIES = """\
atlas.server.bind.address=127.0.0.1
atlas.server.http.port={web}
atlas.rest.address=http://127.0.0.1:{web}
atlas.enableTLS=false
atlas.server.ha.enabled=false

atlas.graphdb.backend=org.apache.atlas.repository.graphdb.janus.AtlasJanusGraphDatabase
atlas.graph.storage.backend=berkeleyje
atlas.graph.storage.directory={home}/data/berkeley
atlas.graph.index.search.backend=solr
atlas.graph.index.search.solr.mode=cloud
# The embedded Solr takes a free port; this one is replaced by it.
atlas.graph.index.search.solr.zookeeper-url=127.0.0.1:9983
atlas.graph.index.search.solr.embedded=true
atlas.graph.index.search.solr.wait-searcher=true
atlas.EntityAuditRepository.impl=org.apache.atlas.repository.audit.InMemoryEntityAuditRepository

atlas.notification.embedded=true
atlas.kafka.data={home}/data/kafka
atlas.kafka.bootstrap.servers=127.0.0.1:{kafka}
atlas.kafka.zookeeper.connect=127.0.0.1:{zookeeper}
atlas.kafka.hook.group.id=atlas
# One broker: with Kafka's default of 3 it fails ten times a second without end.
atlas.kafka.offsets.topic.replication.factor=1

atlas.authentication.method.kerberos=false
atlas.authentication.method.file=true
atlas.authentication.method.file.filename={home}/conf/users-credentials.properties
atlas.authorizer.impl=none
"""

_HARD_DELETES = """
atlas.DeleteHandlerV1.impl=org.apache.atlas.repository.store.graph.v1.HardDeleteHandlerV1
"""

_LOG4J = """\
log4j.rootLogger=WARN, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={log}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %-5p %c{{2}}: %m%n
log4j.logger.org.apache.atlas=INFO
log4j.logger.org.apache.solr=ERROR
log4j.logger.kafka=ERROR
log4j.logger.org.apache.kafka=ERROR
log4j.logger.org.apache.zookeeper=ERROR
"""


def configure(
    installed: Installed,
    home: Path,
    *,
    ports: tuple[int, int, int],
    users: str,
    model: str,
    hard_deletes: bool,
) -> list[str]:
    """Write the files below `home`; return the command that starts Atlas. `ports`: web, Kafka, ZooKeeper."""
    web, kafka, zookeeper = ports
    properties = _PROPERTIES.format(web=web, kafka=kafka, zookeeper=zookeeper, home=home)
    files = {
        "conf/atlas-application.properties": properties + (_HARD_DELETES if hard_deletes else ""),
        "conf/atlas-log4j.properties": _LOG4J.format(log=home / LOG),
        "conf/users-credentials.properties": users,
        "models/0000-Area0/0010-base_model.json": model,
    }
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (home / LOG).parent.mkdir()
    # Solr writes its indexes below the folder of its templates, so it gets one of its own.
    (home / "solr").symlink_to(installed.solr / "solr")
    classes = installed.webapp / "WEB-INF"
    path_of_classes = f"{home / 'conf'}:{installed.changed}:{classes / 'classes'}:{classes / 'lib' / '*'}"
    definitions = {
        "log4j.configuration": f"file:{home / 'conf' / 'atlas-log4j.properties'}",
        "atlas.home": home,
        "atlas.conf": home / "conf",
        "atlas.data": home / "data",
        "atlas.log.dir": home / LOG.parent,
        "embedded.solr.directory": home,
        "jetty.testMode": "true",  # makes Solr's web server listen on loopback only
        "user.timezone": "UTC",
    }
    return [
        *(str(installed.java), "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *(f"-D{name}={value}" for name, value in definitions.items()),
        *("-cp", path_of_classes, "org.apache.atlas.Atlas", "-app", str(installed.webapp), "-port", str(web)),
    ]
