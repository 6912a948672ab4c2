package com.databricks.dbutils_v1.impl;

import java.util.Arrays;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * What the listener asks for mount points on Databricks: it makes one by this constructor and calls mounts(). The
 * mounts here are those of the property throughline.mounts: "/mnt/a=wasbs://…,/mnt/b=abfss://…".
 */
public class DbfsUtilsImpl {
    public DbfsUtilsImpl(boolean allowMountOperations) {
    }

    public Seq<Object> mounts() {
        Object[] found = Arrays.stream(System.getProperty("throughline.mounts", "").split(","))
            .filter(entry -> entry.contains("="))
            .map(entry -> new Mount(entry.substring(0, entry.indexOf('=')), entry.substring(entry.indexOf('=') + 1)))
            .toArray();
        return JavaConverters.asScalaBuffer(Arrays.asList(found));
    }

    public static class Mount {
        private final String mountPoint;
        private final String source;

        Mount(String mountPoint, String source) {
            this.mountPoint = mountPoint;
            this.source = source;
        }

        public String mountPoint() {
            return mountPoint;
        }

        public String source() {
            return source;
        }
    }
}
