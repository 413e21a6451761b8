"""From a schedule to the text of kernels: fusion, stages, compaction. It imports schedule and what is below."""
