/// A row whose first column is the checksum of the others.
enum ChecksummedRow {
    static func seal(_ values: [DatabaseValue]) -> [DatabaseValue] { [.integer(value(values[...]))] + values }

    static func isWhole(_ row: ArraySlice<DatabaseValue>) -> Bool {
        row.first?.integer == value(row.dropFirst())
    }

    private static func value(_ values: ArraySlice<DatabaseValue>) -> Int64 {
        var seal = Checksum()
        for value in values { seal.add(value) }
        return seal.value
    }
}
