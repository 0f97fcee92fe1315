import FuzzDriver
import LoadingSemantics

/// The package manager makes this the program's main function, by this name.
@_cdecl("CertificateFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// The whole is a certificate; its octets are also what it is called.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let octets = Array(UnsafeBufferPointer(start: start, count: count))
    let encoding = CertificateEncoding(der: octets)
    let name = String(decoding: octets, as: UTF8.self)
    let leaf = CertificateFacts(
        names: [.host("*." + name), .host(name), .address(octets)], key: .other, signature: .other, validFrom: 0,
        validUntil: 1, encoding: encoding)
    let chain = CertificateChainFacts([leaf, leaf], anchor: .none)
    let refusals = CertificateRules.refusals(of: chain, for: "a." + name, at: 2)
    precondition(encoding != nil || refusals.contains(.malformed), "taken for a certificate")
    let reason = CertificateRefusalMessage(chain, for: name, at: 2, names: [name, nil], lastIssuer: name)
    for refusal in refusals {
        let isPrintable = reason.text(refusal).unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        precondition(isPrintable, "steers a terminal")
    }
    return 0
}
