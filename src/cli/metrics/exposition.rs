// SPDX-License-Identifier: GPL-2.0-or-later
//! From numbers to the text format of Prometheus, version 0.0.4.

use crate::policy::metrics::Histogram;
use prometheus::proto::{self, Bucket, Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Encoder as _, TextEncoder};

/// Names and values of labels.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

/// A counter, one value for each set of labels.
pub(super) fn counter(name: &str, help: &str, values: &[(Labels<'_>, f64)]) -> MetricFamily {
    let metrics = values.iter().map(|(labels, value)| {
        let mut counter = Counter::default();
        counter.set_value(*value);
        let mut metric = labelled(labels);
        metric.set_counter(counter);
        metric
    });
    family(name, help, MetricType::COUNTER, metrics.collect())
}

/// A gauge, one value for each set of labels.
pub(super) fn gauge(name: &str, help: &str, values: &[(Labels<'_>, f64)]) -> MetricFamily {
    let metrics = values.iter().map(|(labels, value)| {
        let mut gauge = Gauge::default();
        gauge.set_value(*value);
        let mut metric = labelled(labels);
        metric.set_gauge(gauge);
        metric
    });
    family(name, help, MetricType::GAUGE, metrics.collect())
}

/// One histogram for each set of labels.
pub(super) fn histogram(name: &str, help: &str, values: &[(Labels<'_>, &Histogram)]) -> MetricFamily {
    let metrics = values.iter().map(|(labels, counted)| {
        let buckets = counted.cumulative().map(|(bound_s, count)| {
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(bound_s);
            bucket.set_cumulative_count(count);
            bucket
        });
        let mut histogram = proto::Histogram::default();
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(counted.count());
        histogram.set_sample_sum(counted.sum_s());
        let mut metric = labelled(labels);
        metric.set_histogram(histogram);
        metric
    });
    family(name, help, MetricType::HISTOGRAM, metrics.collect())
}

/// All of them as text.
///
/// # Errors
/// None that is known: each has a name and a value.
pub(super) fn text(families: &[MetricFamily]) -> prometheus::Result<String> {
    let mut text = Vec::new();
    TextEncoder::new().encode(families, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

fn labelled(labels: Labels<'_>) -> Metric {
    let pairs = labels.iter().map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    });
    Metric::from_label(pairs.collect())
}
