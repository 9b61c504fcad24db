// promcheck reads a metrics page from stdin with Prometheus's parser and fails if the parser fails. It prints
// every metric family with its type and its number of series.
package main

import (
	"fmt"
	"os"
	"sort"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func main() {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "promcheck:", err)
		os.Exit(1)
	}
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		family := families[name]
		if family.GetHelp() == "" {
			fmt.Fprintf(os.Stderr, "promcheck: %s has no HELP\n", name)
			os.Exit(1)
		}
		fmt.Printf("%s %s %d\n", name, family.GetType(), len(family.GetMetric()))
	}
}
