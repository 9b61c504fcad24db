# Installs postern on Windows: fetches its program from a release, checks it, and puts it in place.
#
#   irm URL/install.ps1 | iex
#   & ([scriptblock]::Create((irm URL/install.ps1))) -Version 0.1.0 -To C:\Tools
#
# It does what install.sh does, which is tried in our tests; this one is read, and not tried: nothing there runs
# PowerShell. The work begins in the last line, so a script that comes cut short does nothing.
param(
  [string] $Version = '',
  # Where to; the directory for programs of this person unless told.
  [string] $To = '',
  # Where releases are: URL/vVERSION/postern-VERSION-SYSTEM.exe
  [string] $From = '',
  # Installs without verifying the attestation.
  [switch] $SkipAttestation
)

function Install-Postern([string] $Version, [string] $To, [string] $From, [bool] $SkipAttestation) {
  $ErrorActionPreference = 'Stop'
  $ProgressPreference = 'SilentlyContinue'

  # The release writes its own into these two.
  $releaseVersion = ''
  $releaseUrl = ''

  function Stop-Installing([string] $Sentence, [string] $Hint) {
    throw "postern: error: $Sentence`npostern: hint: $Hint"
  }

  if (-not $Version) { $Version = $releaseVersion }
  if (-not $From) { $From = if ($env:POSTERN_RELEASES) { $env:POSTERN_RELEASES } else { $releaseUrl } }
  if (-not $To) { $To = Join-Path $env:LOCALAPPDATA 'Programs\postern' }
  $Version = $Version -replace '^v', ''
  if (-not $Version) { Stop-Installing 'Cannot tell which release to install' 'name it: -Version 0.1.0' }
  if ($Version -notmatch '^[0-9A-Za-z.+-]+$') {
    Stop-Installing "Cannot install ""$Version"": that is no version" 'write it as 0.1.0'
  }
  if (-not $From) { Stop-Installing 'Cannot tell where releases are' 'name it: -From https://HOST/PATH' }
  # The checksum comes by the same way as the program.
  if ($From -notmatch '^(https://|http://(127\.0\.0\.1|localhost|\[::1\])[:/])') {
    Stop-Installing "Cannot fetch from ""$From"": anybody on the way could change it" 'name an address with https://'
  }

  # A PowerShell of 32 bits tells of the system's own processor in the second.
  $machine = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
  $system = switch ($machine) {
    'AMD64' { 'windows-x64' }
    'ARM64' { 'windows-arm64' }
    default { Stop-Installing "Cannot install on $machine`: there is no program for it" 'there are some for x64 and arm64' }
  }
  $file = "postern-$Version-$system.exe"
  $url = "$($From.TrimEnd('/'))/v$Version/$file"
  # The PowerShell that comes with Windows would ask for TLS 1.0.
  [Net.ServicePointManager]::SecurityProtocol =
    [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

  New-Item -ItemType Directory -Force -Path $To | Out-Null
  # A directory in the one where the program goes: from there it is put in place by renaming.
  $work = Join-Path $To ".postern.$([guid]::NewGuid().ToString('N'))"
  New-Item -ItemType Directory -Path $work | Out-Null
  try {
    $sumFile = Join-Path $work 'sum'
    $program = Join-Path $work 'postern.exe'
    foreach ($wanted in @(@("$url.sha256", $sumFile), @($url, $program))) {
      try { Invoke-WebRequest -UseBasicParsing -Uri $wanted[0] -OutFile $wanted[1] }
      catch {
        Stop-Installing "Cannot fetch $($wanted[0]): $($_.Exception.Message)" 'see which releases there are: -Version VERSION'
      }
    }
    $line = [string] (Get-Content -LiteralPath $sumFile -TotalCount 1)
    if ($line -cnotmatch "^([0-9a-f]{64}) [ *]$([regex]::Escape($file))$") {
      Stop-Installing "Cannot check $file`: what is at $url.sha256 is no checksum of it" 'look at that address'
    }
    $sum = $Matches[1]
    $found = (Get-FileHash -Algorithm SHA256 -LiteralPath $program).Hash.ToLowerInvariant()
    if ($found -cne $sum) {
      Stop-Installing "Cannot use $file`: its checksum is $found and should be $sum" 'fetch it again'
    }
    # gh asks GitHub, and not the place that the program comes from.
    $repository = ''
    $builtBy = ''
    foreach ($place in @($From.TrimEnd('/'), $releaseUrl)) {
      if (-not $repository -and $place -match '^https://github\.com/([^/]+/[^/]+)/releases/download$') {
        $repository = $Matches[1]
      }
    }
    if ($repository -and -not $SkipAttestation -and (Get-Command gh -ErrorAction SilentlyContinue)) {
      # A line on stderr must not end the script.
      $ErrorActionPreference = 'Continue'
      & gh auth token *> $null
      $isSignedIn = $LASTEXITCODE -eq 0
      if ($isSignedIn) {
        $workflow = "$repository/.github/workflows/release.yml"
        $reason = (& gh attestation verify $program --repo $repository --signer-workflow $workflow 2>&1 | Out-String).Trim()
      }
      $isVerified = $isSignedIn -and $LASTEXITCODE -eq 0
      $ErrorActionPreference = 'Stop'
      if ($isSignedIn -and -not $isVerified) {
        $last = ($reason -split "`n")[-1].Trim()
        Stop-Installing "Cannot use $file`: gh cannot verify its attestation: $last" `
          'look at what is published there; to install it nevertheless: -SkipAttestation'
      }
      if ($isVerified) { $builtBy = $repository }
    }
    $said = [string] (& $program --version)
    if ($said.Trim() -cne "postern $Version") {
      Stop-Installing "Cannot use $file`: it says that it is ""$said""" 'look at what is published there'
    }
    $place = Join-Path $To 'postern.exe'
    # Windows does not replace a program that runs, but renames it: what nobody runs any more is removed below.
    $former = "$work.old"
    $wasThere = Test-Path -LiteralPath $place
    if ($wasThere) { Move-Item -LiteralPath $place -Destination $former }
    try { Move-Item -LiteralPath $program -Destination $place }
    catch {
      if ($wasThere) { Move-Item -LiteralPath $former -Destination $place }
      throw
    }
    Get-ChildItem -LiteralPath $To -Force -Filter '.postern.*.old' | Remove-Item -Force -ErrorAction SilentlyContinue
    Write-Host "postern: postern $Version is in $To"
    if ($builtBy) { Write-Host "postern: gh verified that the release workflow of $builtBy built it" }
    else {
      Write-Host 'postern: its checksum comes from the same place: it proves that the download is whole, not who built it'
      if ($repository) {
        Write-Host "postern: verify who built it: gh attestation verify ""$(Join-Path $To 'postern.exe')"" --repo $repository"
      }
    }
    if ($wasThere) { Write-Host 'postern: a door that runs goes on with the program it had, until it is started again' }
    if (($env:PATH -split ';') -notcontains $To) { Write-Host "postern: $To is not in your PATH" }
  }
  finally { Remove-Item -LiteralPath $work -Recurse -Force -ErrorAction SilentlyContinue }
}

Install-Postern -Version $Version -To $To -From $From -SkipAttestation $SkipAttestation
