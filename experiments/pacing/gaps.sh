#!/bin/sh
# Writes gaps.csv from a clone of github.com/tumi8/quic-pacing-paper (CC BY 4.0), which is the argument: of each
# measurement the packets, and the shares of them, in %, that were alone, in trains of up to 5, and of up to 10. As in
# their 02_plotting.py a gap of 0.1 ms or more ends a train, and all repetitions are one sequence. It needs jq and awk.
set -eu
cd "$1/analysis/build/data"
echo 'measurement,packets,alone,up_to_5,up_to_10'
for d in */; do
	cat "$d"*.ipg.json | jq '.[]' | awk -v name="${d%/}" '
		function end() { all += n; if (n == 1) a++; if (n <= 5) b += n; if (n <= 10) c += n; n = 0 }
		BEGIN { n = 1 }
		{ if ($1 >= 0.1) end(); n++ }
		END { end(); printf "%s,%d,%.2f,%.2f,%.2f\n", name, all, 100*a/all, 100*b/all, 100*c/all }'
done
