internal import FoundationEssentials
internal import LoadingSemantics

/// A row of the index.
struct ResponseRow {
    static let schema = DatabaseSchema(
        name: "url-loading-responses.sqlite", applicationID: 0x554C_5253,
        migrations: [
            """
            CREATE TABLE responses (id INTEGER PRIMARY KEY, used INTEGER NOT NULL, seal INTEGER NOT NULL, \
            key NOT NULL, variant, size INTEGER NOT NULL, stored, body_count INTEGER NOT NULL, \
            body_seal INTEGER NOT NULL, file, url, protocol, status, requested, received, is_doubted, names, fields, \
            user_info);
            CREATE UNIQUE INDEX responses_key ON responses (key);
            CREATE INDEX responses_use ON responses (used, size);
            CREATE TABLE bodies (id INTEGER PRIMARY KEY, seal INTEGER NOT NULL, body NOT NULL);
            """
        ],
        durability: .none, checksIntegrity: false)

    /// The limit of body sizes. Sums do not overflow.
    private static let largestBody: Int64 = 1 << 40
    /// The approximate overhead per response in index and file system.
    private static let overhead: Int64 = 256

    var key: String
    var head: ArchivedResponse
    var stored: Double
    var bodyCount: Int64
    var bodySeal: Int64
    /// Nil if the body is in the index.
    var file: String?

    /// The size that counts against the capacity.
    var size: Int64 {
        let fields = head.response.fields.bytes.count + 8 * head.response.fields.count
        let texts = key.utf8.count + head.url.utf8.count + (head.userInfo?.count ?? 0)
        return bodyCount + Int64(fields + texts) + Self.overhead
    }

    /// The size column of a row that may be damaged, clamped so that a few damaged rows do not make the total invalid.
    static func size(_ value: DatabaseValue) -> Int64 { min(max(value.integer ?? 0, 0), 2 * largestBody) }

    /// The SQL expression for the total of these sizes.
    static let totalSize = """
        total(CASE typeof(size) WHEN 'integer' THEN min(max(size, 0), \(2 * largestBody)) ELSE 0 END)
        """

    // MARK: Columns

    static let columns = [
        "key", "variant", "size", "stored", "body_count", "body_seal", "file", "url", "protocol", "status",
        "requested", "received", "is_doubted", "names", "fields", "user_info",
    ]
    static let select = "SELECT id, seal, \(columns.joined(separator: ", ")) FROM responses"
    static let insert = """
        INSERT INTO responses (used, seal, \(columns.joined(separator: ", "))) \
        VALUES (?, ?, \(columns.map { _ in "?" }.joined(separator: ", ")))
        """
    static let update = """
        UPDATE responses SET seal = ?, \(columns.map { $0 + " = ?" }.joined(separator: ", ")) WHERE id = ?
        """

    /// With the checksum first.
    var sealed: [DatabaseValue] {
        let response = head.response
        return ChecksummedRow.seal([
            .text(key), response.variant.map { .blob(Data($0.fingerprint)) } ?? .null, .integer(size),
            DatabaseValue(stored), .integer(bodyCount), .integer(bodySeal),
            DatabaseValue(file), .text(head.url), DatabaseValue(head.protocolName), .integer(Int64(response.status)),
            .integer(response.requestTime), .integer(response.responseTime), DatabaseValue(response.needsValidation),
            response.variant.map { .text($0.names.joined(separator: " ")) } ?? .null,
            .blob(FieldBlock.data(response.fields)),
            head.userInfo.map { .blob($0) } ?? .null,
        ])
    }

    /// Returns nil if the row is damaged.
    ///
    /// - Parameter row: The columns, with the checksum first.
    init?(sealed row: ArraySlice<DatabaseValue>) {
        guard row.count == Self.columns.count + 1, ChecksummedRow.isWhole(row) else { return nil }
        let row = Array(row.dropFirst())
        guard let key = row[0].text, let bodyCount = row[4].integer, (0...Self.largestBody).contains(bodyCount),
            let bodySeal = row[5].integer,
            let url = row[7].text, let status = row[9].integer.flatMap({ Int(exactly: $0) }),
            let requested = row[10].integer, let received = row[11].integer, let isDoubted = row[12].flag,
            let fields = row[14].blob.flatMap(FieldBlock.fields)
        else { return nil }
        self.key = key
        stored = row[3].real ?? 0
        self.bodyCount = bodyCount
        self.bodySeal = bodySeal
        file = row[6].text
        let variant = row[13].text.map { names in
            CacheVariant(
                names: names.utf8.split(separator: 0x20).map { String(Substring($0)) },
                fingerprint: row[1].blob.map { Array($0) } ?? [])
        }
        head = ArchivedResponse(
            url: url,
            response: StoredResponse(
                status: status, fields: fields, requestTime: requested, responseTime: received, variant: variant,
                needsValidation: isDoubted),
            protocolName: row[8].text, userInfo: row[15].blob)
    }

    init(key: String, head: ArchivedResponse, stored: Double, bodyCount: Int64, bodySeal: Int64, file: String?) {
        self.key = key
        self.head = head
        self.stored = stored
        self.bodyCount = bodyCount
        self.bodySeal = bodySeal
        self.file = file
    }
}
