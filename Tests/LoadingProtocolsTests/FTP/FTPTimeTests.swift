import LoadingProtocols
import Testing

@Suite struct FTPTimeTests {
    // MISC-17, RES-3
    @Test(
        "times of MDTM",
        arguments: [
            ("19700101000000", 0), ("20240229235960", 1_709_251_200), ("20260102030405.678", 1_767_323_045),
            ("20250229000000", nil), ("20261301000000", nil), ("20260100000000", nil), ("20260101240000", nil),
            ("20260101006000", nil), ("2026010200", nil), ("202601020304055", nil), ("2026010203040x", nil), ("", nil),
        ] as [(String, Int64?)])
    func times(text: String, seconds: Int64?) { #expect(FTPTime.seconds(text) == seconds) }
}
