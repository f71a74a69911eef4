package schema

// A tamFeature is a feature of TAM: its key in TAM_FEATURES_TABLE, its configured tables in the order in which an
// operator looks for problems, and the tables that only hold measurements.
type tamFeature struct {
	name   string
	tables func() (configured, measured []Table)
}

// tamFeatures returns all features. Names, rows and tables of each are in its own file.
func tamFeatures() []tamFeature {
	return []tamFeature{
		{FeatureTailStamping, tailStampTables},
		{FeatureAltMark, altMarkTables},
		{FeatureFlyMon, flyMonTables},
		{FeatureTableRecord, recordTables},
		{FeatureDropMonitor, dropMonitorTables},
		{FeatureIFA, ifaTables},
	}
}

// Features returns the features that TAM_FEATURES_TABLE may contain.
func Features() (names []string) {
	for _, f := range tamFeatures() {
		names = append(names, f.name)
	}
	return names
}

// featureTables returns the tables of all features.
func featureTables() (configured, measured []Table) {
	for _, f := range tamFeatures() {
		c, m := f.tables()
		configured, measured = append(configured, c...), append(measured, m...)
	}
	return configured, measured
}
