# SPDX-License-Identifier: Apache-2.0
from harness.report.measurement import job_metrics, metrics
from harness.scenario.metrics import ALL_METRICS, ITERATION_METRICS, JOB_METRICS


def test_each_metric_that_is_declared_is_computed_and_no_other():
    assert sorted(metrics._FIGURES) == sorted(ALL_METRICS)
    assert sorted(job_metrics.JOB_FIGURES) == sorted([*JOB_METRICS, *ITERATION_METRICS])
