// Package parquet writes the tables of package corpus as Parquet.
//
//	options := corpus.Options{Format: &parquet.Format{}}
//	tables, err := corpus.OpenTables(ctx, "tables", options, manifest)
package parquet
