# Installs postern on Windows: downloads the program of a release, verifies it and moves it into place.
#
#   irm URL/install.ps1 | iex
#   & ([scriptblock]::Create((irm URL/install.ps1))) -Version 0.1.0 -To C:\Tools
#
# It works like install.sh. Tests run install.sh, but not this script, because CI has no PowerShell. The work
# starts in the last line, so a truncated download does nothing.
param(
  [string] $Version = '',
  # The target directory (default: the user's directory for programs).
  [string] $To = '',
  # The address of the releases: URL/vVERSION/postern-VERSION-SYSTEM.exe
  [string] $From = '',
  # Skips the verification of the attestation.
  [switch] $SkipAttestation
)

function Install-Postern([string] $Version, [string] $To, [string] $From, [bool] $SkipAttestation) {
  $ErrorActionPreference = 'Stop'
  $ProgressPreference = 'SilentlyContinue'

  # The release fills in these two values.
  $releaseVersion = ''
  $releaseUrl = ''

  function Stop-Installing([string] $Sentence, [string] $Hint) {
    throw "postern: error: $Sentence`npostern: hint: $Hint"
  }

  if (-not $Version) { $Version = $releaseVersion }
  if (-not $From) { $From = if ($env:POSTERN_RELEASES) { $env:POSTERN_RELEASES } else { $releaseUrl } }
  if (-not $To) { $To = Join-Path $env:LOCALAPPDATA 'Programs\postern' }
  $Version = $Version -replace '^v', ''
  if (-not $Version) { Stop-Installing 'Cannot install postern: no version given' 'choose one: -Version 0.1.0' }
  if ($Version -notmatch '^[0-9A-Za-z.+-]+$') {
    Stop-Installing "Cannot install ""$Version"": not a version" 'write it like 0.1.0'
  }
  if (-not $From) { Stop-Installing 'Cannot install postern: no address of releases given' 'pass one: -From https://HOST/PATH' }
  # The checksum comes over the same connection as the program.
  if ($From -notmatch '^(https://|http://(127\.0\.0\.1|localhost|\[::1\])[:/])') {
    Stop-Installing "Cannot fetch from ""$From"": the address does not begin with https://" 'use an https:// address'
  }

  # A 32-bit PowerShell reports the system's processor in the first variable.
  $machine = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
  $system = switch ($machine) {
    'AMD64' { 'windows-x64' }
    'ARM64' { 'windows-arm64' }
    default { Stop-Installing "Cannot install on $machine`: not supported" 'use a machine with x64 or arm64' }
  }
  $file = "postern-$Version-$system.exe"
  $url = "$($From.TrimEnd('/'))/v$Version/$file"
  # Windows PowerShell uses TLS 1.0 by default.
  [Net.ServicePointManager]::SecurityProtocol =
    [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

  New-Item -ItemType Directory -Force -Path $To | Out-Null
  # A directory inside the target directory, so that a rename moves the program into place.
  $work = Join-Path $To ".postern.$([guid]::NewGuid().ToString('N'))"
  New-Item -ItemType Directory -Path $work | Out-Null
  try {
    $sumFile = Join-Path $work 'sum'
    $program = Join-Path $work 'postern.exe'
    foreach ($wanted in @(@("$url.sha256", $sumFile), @($url, $program))) {
      try { Invoke-WebRequest -UseBasicParsing -Uri $wanted[0] -OutFile $wanted[1] }
      catch {
        Stop-Installing "Cannot fetch $($wanted[0]): $($_.Exception.Message)" 'check the available releases and choose one: -Version VERSION'
      }
    }
    $line = [string] (Get-Content -LiteralPath $sumFile -TotalCount 1)
    if ($line -cnotmatch "^([0-9a-f]{64}) [ *]$([regex]::Escape($file))$") {
      Stop-Installing "Cannot check $file`: $url.sha256 does not contain its checksum" 'open that address in a browser'
    }
    $sum = $Matches[1]
    $found = (Get-FileHash -Algorithm SHA256 -LiteralPath $program).Hash.ToLowerInvariant()
    if ($found -cne $sum) {
      Stop-Installing "Cannot use $file`: its checksum is $found instead of $sum" 'try again; if the error persists, do not use the file: it was changed'
    }
    # gh queries GitHub, not the site of the download.
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
          'check the published release; to install it anyway: -SkipAttestation'
      }
      if ($isVerified) { $builtBy = $repository }
    }
    $said = [string] (& $program --version)
    if ($said.Trim() -cne "postern $Version") {
      Stop-Installing "Cannot use $file`: it reports ""$said"" instead of ""postern $Version""" 'check the published release'
    }
    $place = Join-Path $To 'postern.exe'
    # Windows cannot replace a running program, but can rename it. The code below removes old programs that no
    # longer run.
    $former = "$work.old"
    $wasThere = Test-Path -LiteralPath $place
    if ($wasThere) { Move-Item -LiteralPath $place -Destination $former }
    try { Move-Item -LiteralPath $program -Destination $place }
    catch {
      if ($wasThere) { Move-Item -LiteralPath $former -Destination $place }
      throw
    }
    Get-ChildItem -LiteralPath $To -Force -Filter '.postern.*.old' | Remove-Item -Force -ErrorAction SilentlyContinue
    Write-Host "postern: installed postern $Version in $To"
    if ($builtBy) { Write-Host "postern: gh verified that the release workflow of $builtBy built it" }
    else {
      Write-Host 'postern: the checksum comes from the same site: it proves a complete download, not who built it'
      if ($repository) {
        Write-Host "postern: verify who built it: gh attestation verify ""$(Join-Path $To 'postern.exe')"" --repo $repository"
      }
    }
    if ($wasThere) { Write-Host 'postern: running instances keep the previous program until you restart them' }
    if (($env:PATH -split ';') -notcontains $To) { Write-Host "postern: $To is not in your PATH" }
  }
  finally { Remove-Item -LiteralPath $work -Recurse -Force -ErrorAction SilentlyContinue }
}

Install-Postern -Version $Version -To $To -From $From -SkipAttestation $SkipAttestation
